-- erase_form: what an address is called once its person is erased.
select erased_form(cast(:address as text))
