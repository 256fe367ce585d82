SELECT properties->>'author' AS author, count(*) AS articles, max(CAST(properties->>'rank' AS integer)) AS highest
FROM node WHERE workspace = 'content' AND CAST(properties->>'rank' AS integer) % 2 = 0
GROUP BY properties->>'author' ORDER BY author;
