INSERT INTO node (id, workspace, path, parent, name, order_key, node_type, properties)
SELECT number_id(n), 'content', '/f-' || n / 100 || '/n-' || n % 100, '/f-' || n / 100, 'n-' || n % 100,
  lpad(to_hex(n), 12, '0'), 'bench:Article',
  jsonb_build_object('title', 'Title ' || n, 'author', 'author-' || n % 100, 'rank', n, 'body', :'text',
    'tags', jsonb_build_array('one', 'two'))
FROM generate_series(0, :articles - 1) AS n;
SELECT setval('node_number', :articles);
VACUUM ANALYZE node;
CHECKPOINT;
