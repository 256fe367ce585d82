-- A table with the same fields and secondary indexes as Grove, and properties as JSONB. Ids and order keys ascend,
-- which favours the indexes; in Grove they ascend too.
CREATE TABLE node (
  id uuid PRIMARY KEY,
  workspace text NOT NULL,
  path text NOT NULL,
  parent text NOT NULL,
  name text NOT NULL,
  order_key text NOT NULL,
  node_type text NOT NULL,
  properties jsonb NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL DEFAULT 'admin',
  updated_at timestamptz NOT NULL DEFAULT now(),
  updated_by text NOT NULL DEFAULT 'admin'
);
CREATE UNIQUE INDEX node_path ON node (workspace, path);
CREATE INDEX node_children ON node (workspace, parent, order_key);
CREATE INDEX node_types ON node (workspace, node_type, path);
CREATE INDEX node_author ON node (workspace, (properties->>'author'), id);
CREATE INDEX node_rank ON node (workspace, ((properties->>'rank')::numeric), id);

-- Additional records of every write of Grove: a revision record, and for an update the replaced version.
CREATE SEQUENCE revision_number;
CREATE TABLE revision (
  revision bigint PRIMARY KEY DEFAULT nextval('revision_number'),
  made_at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL DEFAULT 'admin',
  message text NOT NULL,
  changes jsonb NOT NULL
);
CREATE TABLE node_version (
  id uuid NOT NULL,
  version integer NOT NULL,
  node jsonb NOT NULL,
  PRIMARY KEY (id, version)
);

CREATE SEQUENCE node_number;

CREATE FUNCTION number_id(number bigint) RETURNS uuid
  LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN lpad(to_hex(number), 32, '0')::uuid;
