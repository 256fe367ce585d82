-- pgbench interprets a colon as a variable, also inside of strings, so \x3a is used.
\set count :count + 1
\set folder random(0, :articles / 100 - 1)
\set author random(0, 99)
INSERT INTO node (id, workspace, path, parent, name, order_key, node_type, properties)
SELECT number_id(n), 'content', '/f-' || :folder || '/c-' || :run || '-' || :client_id || '-' || :count,
  '/f-' || :folder, 'c-' || :run || '-' || :client_id || '-' || :count, lpad(to_hex(n), 12, '0'), E'bench\x3aArticle',
  ('{"title":"Title ' || :count || '","author":"author-' || :author || '","rank":' || :count || ',"body":"BODY_TEXT","tags":["one","two"]}')::jsonb
FROM nextval('node_number') AS n;
