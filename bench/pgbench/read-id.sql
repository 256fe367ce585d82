\set number random(0, :articles - 1)
SELECT id, path, parent, name, order_key, node_type, properties, version, created_at, created_by, updated_at, updated_by
FROM node WHERE id = number_id(:number);
