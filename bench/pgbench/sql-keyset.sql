\set folder :articles / 200
SELECT id, path, properties FROM node WHERE workspace = 'content' AND path > '/f-' || :folder || '/n-50'
ORDER BY path LIMIT 100;
