\set folder random(0, :articles / 100 - 1)
SELECT id, path, parent, name, order_key, node_type, properties, version, created_at, created_by, updated_at, updated_by
FROM node WHERE workspace = 'content' AND parent = '/f-' || :folder AND order_key > ''
ORDER BY order_key LIMIT 100;
