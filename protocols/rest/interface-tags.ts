/** The description of each tag, by name. */
export const interfaceTags: Readonly<Record<string, string>> = {
  System: 'Liveness, readiness, metrics and state of a member and of its cluster.',
  Admin: 'Logging in as an administrator, and the own account.',
  Tenants: 'Tenants of the server, for administrators of the system.',
  Repositories: 'Repositories of a tenant, and their languages.',
  'System updates': 'Newer versions of the built-in types and workspaces, for repositories that change them.',
  Workspaces: 'Workspaces of a repository: which node types may stand where.',
  Branches: 'Branches, their heads, differences, merges and reverts.',
  Tags: 'Names of revisions.',
  Nodes: 'Reading and writing nodes, at the head of a branch and at a revision.',
  'Node commands':
    'Commands on nodes, such as moving, translating and publishing. Each has an address that ends in its name.',
  Queries: 'Nodes of a workspace by type, parent, path or conditions.',
  Schema: 'Node types, archetypes, element types and mixins of a branch.',
  History: 'What happened to a node.',
  Revisions: 'Commits of a repository.',
  Locks: 'Leases with fence tokens, beside all content.',
  Inventory: 'Pools of units that are claimed and given back, never oversold.',
  Statistics: 'How many nodes a branch has, of which types and with which properties; for administrators.',
  Jobs: 'Work in the background.',
  Backups: 'Copies of everything, and restoring from them; for administrators of the system.',
  Checks: 'Whether what is stored is whole; for administrators of the system.',
};
