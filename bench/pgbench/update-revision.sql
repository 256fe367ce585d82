\set folder random(0, :articles / 100 - 1)
\set number random(0, 99)
\set author random(0, 99)
\set rank random(0, 999999999)
WITH before AS (
  SELECT * FROM node WHERE workspace = 'content' AND path = '/f-' || :folder || '/n-' || :number FOR UPDATE
), kept AS (
  INSERT INTO node_version (id, version, node) SELECT id, version, to_jsonb(before) FROM before
), changed AS (
  UPDATE node SET version = node.version + 1, updated_at = now(), updated_by = 'admin',
    properties = ('{"title":"Title ' || :rank || '","author":"author-' || :author || '","rank":' || :rank || ',"body":"BODY_TEXT","tags":["one","two"]}')::jsonb
  FROM before WHERE node.id = before.id
  RETURNING node.id
)
INSERT INTO revision (message, changes)
SELECT 'Updated node: ' || id, jsonb_build_array(jsonb_build_object('node_id', id, 'operation', 'modified'))
FROM changed;
