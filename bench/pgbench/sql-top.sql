SELECT id, path, properties->>'title' AS title FROM node WHERE workspace = 'content'
ORDER BY properties->>'title' DESC LIMIT 20;
