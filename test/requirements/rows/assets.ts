// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: assets. */
export const assetsRows: readonly Requirement[] = [
  { id: 'ASSET-001', section: 'Assets', status: 'planned', theme: 'assets', behaviour: 'POST multipart to an asset node stores the file on that node' },
  { id: 'ASSET-002', section: 'Assets', status: 'planned', theme: 'assets', behaviour: '`?command=download` streams the bytes as an attachment, `?command=display` inline' },
  { id: 'ASSET-003', section: 'Assets', status: 'planned', theme: 'assets', behaviour: '`@file` answers the bytes' },
  { id: 'ASSET-004', section: 'Assets', status: 'planned', theme: 'assets', behaviour: 'POST `.../svc:sign` `{command, expires_in}` answers `{url, expires_at}`; the url ends `/svc:download?sig=<SIGNATURE>&exp=<unix seconds>`' },
  { id: 'ASSET-005', section: 'Assets', status: 'planned', theme: 'assets', behaviour: 'A signed link serves the bytes without a token until `exp`' },
  { id: 'ASSET-006', section: 'Assets', status: 'planned', theme: 'assets', behaviour: 'An unreadable asset answers 404 to a byte read' },
  { id: 'ASSET-007', section: 'Assets and packages', status: 'planned', theme: 'assets', behaviour: 'A multipart text file answers 200 with `storedKey`; `file` has the name and `text/plain`; `@file` returns the bytes' },
  { id: 'ASSET-008', section: 'Assets and packages', status: 'planned', theme: 'assets', behaviour: 'An upload to `@properties.attachment` sets that property' },
  { id: 'ASSET-009', section: 'Assets and packages', status: 'planned', theme: 'assets', behaviour: '`inline=true` stores small text; over 11 MB answers 413; invalid UTF-8 400; override replaces' },
  { id: 'ASSET-010', section: 'Assets and packages', status: 'planned', theme: 'assets', behaviour: 'A signed URL works without a token; an altered signature, another command or a past `exp` answers 401 `INVALID_SIGNATURE`; a bad command 400' },
  { id: 'ASSET-011', section: 'Assets and packages', status: 'planned', theme: 'assets', behaviour: 'A resumable upload goes create, chunks, complete, node; a wrong offset answers 409, an early complete 400, an unknown id 404' },
  { id: 'ASSET-012', section: 'Assets and packages', status: 'planned', theme: 'assets', behaviour: 'A package upload\'s `status` goes from processing to ready, with the manifest\'s fields' },
  { id: 'ASSET-013', section: 'Assets and packages', status: 'planned', theme: 'assets', behaviour: 'A multipart body without a file part answers 400' },
  { id: 'ASSET-014', section: 'Assets and packages', status: 'planned', theme: 'assets', behaviour: '`?command=download` on a node without a file answers 404, on another property kind 400' },
  { id: 'STATIC-001', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'GET `/resources/{repo}/{branch}/{workspace}/{path}` of a `svc:Asset` answers the bytes with the stored MIME type' },
  { id: 'STATIC-002', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'A folder or a path ending `/` answers the folder\'s index document' },
  { id: 'STATIC-003', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'A path without a covering `svc:StaticSiteFolder` answers 404' },
  { id: 'STATIC-004', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'A node that the caller may not read answers 404' },
  { id: 'STATIC-005', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'Retyping or deleting the folder unpublishes the subtree, at the latest after the publication cache of 60 seconds' },
  { id: 'STATIC-006', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'A `svc:StaticSiteFolder` at the bare workspace root is not discovered' },
  { id: 'STATIC-007', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'Headers come from the nearest `svc:StaticSiteFolder`; plain folders beneath it serve' },
  { id: 'STATIC-008', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'An index document answers `Cache-Control: no-cache`; another asset `public, max-age=3600`; `serving_config.cache_control` overrides both' },
  { id: 'STATIC-009', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: '`content_hash` is the ETag, and a matching `If-None-Match` answers 304' },
  { id: 'STATIC-010', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: '`frame_ancestors` is sent as `Content-Security-Policy: frame-ancestors ...`; without it no header is sent' },
  { id: 'STATIC-011', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: '`index_document` names the index file, by default `index.html`' },
  { id: 'STATIC-012', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'A listed CORS origin is reflected with credentials and `Vary: Origin`; `*` goes without credentials' },
  { id: 'STATIC-013', section: 'Static serving', status: 'planned', theme: 'assets', behaviour: 'CORS resolves folder, repository, tenant, server in that order' },
];
