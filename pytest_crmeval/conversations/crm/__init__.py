"""The CRM on PostgreSQL: its server, its databases, its tools."""
