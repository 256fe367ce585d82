SELECT a.path AS path, b.path AS other
FROM node a JOIN node b ON b.parent = a.parent
WHERE a.workspace = 'content' AND a.properties->>'author' = 'author-7'
  AND b.workspace = 'content' AND b.properties->>'author' = 'author-8'
ORDER BY a.path;
