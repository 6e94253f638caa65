-- erase_forms: what each of these addresses is called once its person is erased, in their order.
select jsonb_agg(erased_form(a.address) order by a.place)
from jsonb_array_elements_text(cast(:addresses as jsonb)) with ordinality as a (address, place)
