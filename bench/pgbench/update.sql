\set folder random(0, :articles / 100 - 1)
\set number random(0, 99)
\set author random(0, 99)
\set rank random(0, 999999999)
UPDATE node SET version = version + 1, updated_at = now(), updated_by = 'admin',
  properties = ('{"title":"Title ' || :rank || '","author":"author-' || :author || '","rank":' || :rank || ',"body":"BODY_TEXT","tags":["one","two"]}')::jsonb
WHERE workspace = 'content' AND path = '/f-' || :folder || '/n-' || :number;
