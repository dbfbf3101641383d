"""The CRM on PostgreSQL: its rows, transactions and tools."""
