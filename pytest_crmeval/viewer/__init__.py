"""`crmeval view`: all runs of a project in a browser, from a server that only this machine can reach."""
