\set folder random(0, :articles / 100 - 1)
\set number random(0, 99)
SELECT id, path, parent, name, order_key, node_type, properties, version, created_at, created_by, updated_at, updated_by
FROM node WHERE workspace = 'content' AND path = '/f-' || :folder || '/n-' || :number;
