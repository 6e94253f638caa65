-- connections_give: put the connection limits where connections_limit reads them, to the end of the transaction.
select set_config('mailfold.connection_limits', cast(:limits as text), true)
