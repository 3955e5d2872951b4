"""`parcubin-ptxas`: ptxas's own command line, compiled in parts where that pays."""
