-- What the dialect has otherwise than PostgreSQL by its documentation, so that the same text can be asked of both:
-- arithmetic gives DOUBLE, numbers with a point are DOUBLE, and functions of paths exist.
CREATE SCHEMA dialect;
DO $$
DECLARE
  l text; r text; o text;
BEGIN
  FOREACH l IN ARRAY ARRAY['int4', 'int8', 'numeric', 'float8'] LOOP
    FOREACH r IN ARRAY ARRAY['int4', 'int8', 'numeric', 'float8'] LOOP
      FOREACH o IN ARRAY ARRAY['+', '-', '*', '/'] LOOP
        EXECUTE format('CREATE FUNCTION dialect.%I(%s, %s) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT AS
          ''SELECT $1::float8 OPERATOR(pg_catalog.%s) $2::float8''', 'op' || ascii(o), l, r, o);
        EXECUTE format('CREATE OPERATOR dialect.%s (FUNCTION = dialect.%I, LEFTARG = %s, RIGHTARG = %s)', o, 'op' || ascii(o), l, r);
      END LOOP;
      EXECUTE format('CREATE FUNCTION dialect.remainder(%s, %s) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT AS
        ''SELECT ($1::numeric OPERATOR(pg_catalog.%%) $2::numeric)::float8''', l, r);
      EXECUTE format('CREATE OPERATOR dialect.%% (FUNCTION = dialect.remainder, LEFTARG = %s, RIGHTARG = %s)', l, r);
    END LOOP;
  END LOOP;
END $$;
CREATE FUNCTION dialect.depth(text) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS
  $$SELECT CASE WHEN $1 = '/' THEN 0 ELSE length($1) OPERATOR(pg_catalog.-) length(replace($1, '/', '')) END$$;
CREATE FUNCTION dialect.parent(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
  $$SELECT CASE WHEN $1 = '/' THEN NULL ELSE coalesce(nullif(regexp_replace($1, '/[^/]*$', ''), ''), '/') END$$;
CREATE FUNCTION dialect.path_starts_with(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS
  $$SELECT $2 = '/' OR $1 = $2 OR starts_with($1, $2 || '/')$$;
SET search_path = dialect, pg_catalog, public;
