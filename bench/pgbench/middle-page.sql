SELECT id, path, parent, name, order_key, node_type, properties, version, created_at, created_by, updated_at, updated_by
FROM node WHERE workspace = 'content' AND node_type = E'bench\x3aArticle'
ORDER BY path OFFSET :articles / 2 LIMIT 100;
