// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: workspaces. */
export const workspacesRows: readonly Requirement[] = [
  { id: 'WSP-001', section: 'docs/interface/repositories.md#types-a-workspace-allows', status: 'verified', theme: 'rest-content', behaviour: 'Creating a node whose type is not in the workspace\'s `allowed_node_types` answers 400 `VALIDATION_FAILED`' },
  { id: 'WSP-002', section: 'docs/interface/repositories.md#types-a-workspace-allows', status: 'verified', theme: 'rest-content', behaviour: 'Creating a root node whose type is not in `allowed_root_node_types` answers 400 `VALIDATION_FAILED`' },
  { id: 'WSP-003', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: '`PUT /api/workspaces/{repo}/{name}` creates a workspace and answers 204' },
  { id: 'WSP-004', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: '`PUT /api/workspaces/{repo}/{name}` of an existing workspace replaces it and answers 204, its nodes stay' },
  { id: 'WSP-005', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: 'The name in the path wins over a name in the workspace body' },
  { id: 'WSP-006', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: 'A workspace body without `allowed_node_types` or `allowed_root_node_types` answers 422 text that names the field' },
  { id: 'WSP-007', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: '`GET /api/workspaces/{repo}/{name}` answers the workspace with `created_at`, `updated_at` and `config`' },
  { id: 'WSP-008', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: '`GET /api/workspaces/{repo}/{name}` of an unknown workspace answers 404 `WORKSPACE_NOT_FOUND`' },
  { id: 'WSP-009', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: '`GET /api/workspaces/{repo}` answers `{items, page: {total, limit, offset, nextOffset}}` sorted by name' },
  { id: 'WSP-010', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: 'The workspace list with `limit=2` over three workspaces answers a,b with `nextOffset` 2, then c with `nextOffset` null' },
  { id: 'WSP-011', section: 'docs/interface/repositories.md#configuration-of-a-workspace', status: 'verified', theme: 'rest-content', behaviour: '`GET /api/workspaces/{repo}/{name}/config` answers `{default_branch, node_type_pins}`' },
  { id: 'WSP-012', section: 'docs/interface/repositories.md#configuration-of-a-workspace', status: 'verified', theme: 'rest-content', behaviour: '`PUT /api/workspaces/{repo}/{name}/config` answers 204 and the new configuration is read back' },
  { id: 'WSP-013', section: 'docs/interface/repositories.md#types-a-workspace-allows', status: 'verified', theme: 'rest-content', behaviour: 'A workspace with an empty `allowed_node_types` list accepts every type' },
  { id: 'WSP-014', section: 'docs/interface/repositories.md#types-a-workspace-allows', status: 'verified', theme: 'rest-content', behaviour: 'A workspace list entry `*` accepts every type' },
  { id: 'WSP-015', section: 'docs/interface/repositories.md#types-a-workspace-allows', status: 'verified', theme: 'rest-content', behaviour: 'A root node must satisfy both `allowed_node_types` and `allowed_root_node_types`' },
  { id: 'WSP-016', section: 'docs/interface/repositories.md#types-a-workspace-allows', status: 'verified', theme: 'rest-content', behaviour: 'The workspace lists are checked on move and on copy into the workspace as well' },
  { id: 'WSP-017', section: 'docs/interface/repositories.md#types-a-workspace-allows', status: 'verified', theme: 'rest-content', behaviour: 'A root create outside `allowed_root_node_types` and a child create outside `allowed_children` answer 400' },
  { id: 'WSP-018', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: '`PUT` of a workspace with `initial_structure` creates its nodes' },
  { id: 'WSP-019', section: 'docs/interface/repositories.md#configuration-of-a-workspace', status: 'verified', theme: 'rest-content', behaviour: '`node_type_refs` is accepted as an alias of `node_type_pins`' },
  { id: 'WSP-020', section: 'docs/interface/repositories.md#configuration-of-a-workspace', status: 'verified', theme: 'rest-content', behaviour: 'With a pin, writes and reads of types in that workspace use the definition at the pinned revision' },
  { id: 'WSP-021', section: 'docs/interface/repositories.md#configuration-of-a-workspace', status: 'verified', theme: 'rest-content', behaviour: 'A pin of null means the latest definition' },
  { id: 'WSP-022', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: 'The workspace routes of an unknown repository answer 404 `REPOSITORY_NOT_FOUND`' },
  { id: 'WSP-023', section: 'docs/interface/conventions.md#unknown-fields', status: 'verified', theme: 'rest-content', behaviour: 'A workspace or its configuration with a field that there is not answers 400 with its name and the nearest known one, and nothing is written' },
  { id: 'WSP-024', section: 'docs/interface/conventions.md#unknown-fields', status: 'verified', theme: 'rest-content', behaviour: 'A workspace and its configuration that were read can be put back as they are' },
  { id: 'WSP-025', section: 'docs/interface/repositories.md#configuration-of-a-workspace', status: 'verified', theme: 'rest-content', behaviour: 'A node type that is not there at the revision a workspace pins it to is refused with a message that names the pin, by writes, validation and `resolved`' },
  { id: 'WSP-026', section: 'docs/interface/repositories.md#workspaces', status: 'verified', theme: 'rest-content', behaviour: 'A workspace with which the workspaces of a repository would take more than 8 MiB is refused with 400, and what is there can be shortened' },
];
