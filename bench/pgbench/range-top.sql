-- pgbench interprets a colon as a variable, so CAST is used.
SELECT id, path, parent, name, order_key, node_type, properties, version, created_at, created_by, updated_at, updated_by
FROM node WHERE workspace = 'content' AND CAST(properties->>'rank' AS numeric) >= :articles / 2
ORDER BY CAST(properties->>'rank' AS numeric) LIMIT 20;
