SELECT id, path, parent, name, order_key, node_type, properties, version, created_at, created_by, updated_at, updated_by
FROM node WHERE workspace = 'content' AND properties->>'author' = 'author-7'
ORDER BY id LIMIT 20;
