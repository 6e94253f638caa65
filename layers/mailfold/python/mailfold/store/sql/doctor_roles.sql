-- doctor_roles: where the roles differ from roles.sql: no such role, a right too few or too many, a role that may take
-- another one, another limit.
with rights as (
    select r.*, to_regclass(r.object) as relation, to_regprocedure(r.object) as function
    from jsonb_to_recordset(cast(:rights as jsonb)) as r (role text, "right" text, object text, "column" text)
),

members as (
    select *
    from jsonb_to_recordset(cast(:members as jsonb)) as m (role text, member text)
),

limits as (
    select *
    from jsonb_to_recordset(cast(:limits as jsonb)) as l (role text, name text, value text)
),

roles as (
    select distinct r.role, p.oid, p.rolconfig, p.rolcanlogin
    from rights r
    left join pg_roles p on p.rolname = r.role
),

missing as (
    select r.role, r."right", r.object, r."column"
    from rights r
    join roles o on o.role = r.role and o.oid is not null
    where not coalesce(
        case
            when r.function is not null then has_function_privilege(o.oid, r.function, r."right")
            when r."column" = '' then has_table_privilege(o.oid, r.relation, r."right")
            when exists (select from pg_attribute where attrelid = r.relation and attname = r."column")
                then has_column_privilege(o.oid, r.relation, r."column", r."right")
        end,
        false
    )
),

excess as (
    select o.role, p."right", c.relname as object
    from roles o
    cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as p ("right")
    join pg_class c on c.relnamespace = to_regnamespace('public') and c.relkind in ('r', 'v')
    where has_table_privilege(o.oid, c.oid, p."right")
        and not exists (
            select from rights r
            where r.role = o.role and r."right" = p."right" and r.relation = c.oid and r."column" = ''
        )
),

-- RDS's own role lets a role log in and gives it no right.
taken as (
    select g.rolname as role, o.role as member
    from pg_auth_members a
    join pg_roles g on g.oid = a.roleid and g.rolname <> 'rds_iam'
    join roles o on o.oid = a.member
)

select jsonb_build_object('problem', 'role', 'role', role) as deviation
from roles
where oid is null or (not rolcanlogin and role not in (select m.role from members m))

union all

select jsonb_build_object('problem', 'login', 'role', role)
from roles
where rolcanlogin and role in (select m.role from members m)

union all

select jsonb_build_object('problem', 'member', 'role', member, 'taken', role)
from (table members except table taken) as lost

union all

select jsonb_build_object('problem', 'excess member', 'role', member, 'taken', role)
from (table taken except table members) as given

union all

select jsonb_build_object('problem', 'right', 'role', role, 'right', "right", 'object', object, 'column', "column")
from missing

union all

select jsonb_build_object('problem', 'excess', 'role', role, 'right', "right", 'object', object)
from excess

union all

select jsonb_build_object('problem', 'limit', 'role', l.role, 'name', l.name, 'value', l.value)
from limits l
join roles o on o.role = l.role and o.oid is not null
where not (l.name || '=' || l.value) = any (coalesce(o.rolconfig, '{}'))
order by 1
