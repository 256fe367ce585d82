// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: mcp outbound. */
export const mcpOutboundRows: readonly Requirement[] = [
  { id: 'MCPOUT-001', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'GET `/api/mcp-connections/{repo}` answers `{connections}`; the routes need an admin principal, except the OAuth callback' },
  { id: 'MCPOUT-002', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'POST creates a connection; a taken slug answers 409, an invalid slug or a refused URL 400' },
  { id: 'MCPOUT-003', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'A slug is 1 to 48 lower-case letters, digits and hyphens and cannot be changed' },
  { id: 'MCPOUT-004', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'PATCH changes the given fields only and ignores or refuses `slug`' },
  { id: 'MCPOUT-005', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'DELETE answers 409 with a count while discovered tools exist, unless `?force=true`' },
  { id: 'MCPOUT-006', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'PUT credential answers `{ok, credential_set, auth_kind}` and turns `auth_kind` `none` into `static`; there is no GET' },
  { id: 'MCPOUT-007', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'No read ever returns a credential or token' },
  { id: 'MCPOUT-008', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'A connection whose node cannot be parsed is listed as `{slug, invalid: true, error}`' },
  { id: 'MCPOUT-009', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'POST test answers 200 `{reachable, protocol_version, server_info, tool_count, tools, permitted_tool_count}` and never calls a tool' },
  { id: 'MCPOUT-010', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'POST test of a broken connection answers 200 `{reachable: false, error_code, error}` with one of the five codes' },
  { id: 'MCPOUT-011', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'GET tools answers the discovered tools with filter and health record' },
  { id: 'MCPOUT-012', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'PATCH of a tool records `enabled` on `tool_filter` and enqueues a discovery run' },
  { id: 'MCPOUT-013', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'POST refresh-tools answers `{ok: true, job_id}`, 400 on a disabled connection' },
  { id: 'MCPOUT-014', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'A tool that is gone upstream becomes `missing` and its proxy is disabled, never deleted' },
  { id: 'MCPOUT-015', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'A generated name that collides with a function makes the tool `conflict`' },
  { id: 'MCPOUT-016', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'DELETE of a tool and prune-tools answer 409 listing referencing agent paths, unless forced' },
  { id: 'MCPOUT-017', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'In `tool_filter` deny wins over allow' },
  { id: 'MCPOUT-018', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'POST oauth/discover follows RFC 9728 and RFC 8414 and registers by RFC 7591; `{requires_auth: false}` and `{discovered: false}` where it ends' },
  { id: 'MCPOUT-019', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'POST oauth/start answers `{auth_url, state}` with PKCE S256 and `resource`; the callback posts `svc-oauth-result` and closes itself' },
  { id: 'MCPOUT-020', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'The OAuth callback\'s state works once' },
  { id: 'MCPOUT-021', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'POST oauth/disconnect clears the tokens and keeps the client registration' },
  { id: 'MCPOUT-022', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'Egress is checked on save and before every dial, against the resolved addresses, for every URL of the discovery chain' },
  { id: 'MCPOUT-023', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: '`allowed_hosts` limits the hosts; empty means any public one; private addresses need `allow_private_addresses`' },
  { id: 'MCPOUT-024', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'An answer above `max_response_bytes` and a call above `call_timeout_ms` are cut off with an error' },
  { id: 'MCPOUT-025', section: 'Outbound MCP connections', status: 'planned', theme: 'mcp-outbound', behaviour: 'With `refresh_policy.notifications` a remote tool change arrives live; in a cluster one member listens' },
  { id: 'MCPOUT-026', section: 'Outbound MCP connection', status: 'planned', theme: 'mcp-outbound', behaviour: 'A new connection has `title` equal to the slug, `enabled` false, `auth_kind` `none` and `refresh_policy.notifications` false unless given' },
  { id: 'MCPOUT-027', section: 'Outbound MCP connection', status: 'planned', theme: 'mcp-outbound', behaviour: 'A discovered tool answers `remote_name`, `function_name`, `function_path`, `schema_hash`, `enabled` and `state`' },
  { id: 'MCPOUT-028', section: 'Outbound MCP connection', status: 'planned', theme: 'mcp-outbound', behaviour: 'POST test without a master key on the service answers a non-2xx status' },
];
