// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: locks. */
export const locksRows: readonly Requirement[] = [
  { id: 'LOCK-001', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'POST `/locks/acquire` `{key, ttl_ms, owner?}` answers 200 `{acquired: true, key, token, expires_at_ms}`' },
  { id: 'LOCK-002', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'Acquire of a held lock answers 409 `{acquired: false}`' },
  { id: 'LOCK-003', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'Fence tokens rise strictly with every grant of a branch' },
  { id: 'LOCK-004', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'POST `/locks/release` `{key, token}` answers `{released: true}`, and the key can be acquired again' },
  { id: 'LOCK-005', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'Release of a lock that is gone or held by another answers `{released: false}`, also when repeated' },
  { id: 'LOCK-006', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'POST `/locks/renew` `{key, token, ttl_ms}` answers `{renewed: true}` and moves the expiry' },
  { id: 'LOCK-007', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'Renew of a lost lease answers `{renewed: false}`' },
  { id: 'LOCK-008', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'A lease that is not renewed expires after `ttl_ms`, and the key can be acquired again with a higher token' },
  { id: 'LOCK-009', document: 2, section: 'Locks', status: 'verified', theme: 'locks', behaviour: '`owner` is informational and is not checked' },
  { id: 'LOCK-010', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: '`ttl_ms` outside 10 ms to 24 h answers 400; a missing or wrongly typed field answers 422' },
  { id: 'LOCK-011', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'With `[locks] enabled` off every lock and inventory route answers 503 `LOCKS_DISABLED`' },
  { id: 'LOCK-012', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'Tokens keep rising across restart, head moves, branch deletion and re-creation' },
  { id: 'LOCK-013', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'A restart re-arms the full TTL of every held lock' },
  { id: 'LOCK-014', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'A content write may carry `{lock, token}` as precondition; a stale token is refused in the commit' },
  { id: 'LOCK-015', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: '10,000 parallel acquires of one key give exactly one grant' },
  { id: 'LOCK-016', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'Tokens keep rising through failover, and the new owner re-arms the full TTL of every held lock' },
  { id: 'LOCK-017', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'Locks and pools make no revision and do not move the head; an unknown repository or branch is 404 and leaves nothing behind' },
  { id: 'LOCK-018', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'An acquire with `wait_ms` waits in order of arrival; one whose client goes away or whose time is up leaves the line and holds nothing' },
  { id: 'LOCK-019', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'A repetition with the same `Idempotency-Key` hears of the grant, the claim or the refusal of the first request' },
  { id: 'LOCK-020', document: 'design', section: 'Locks', status: 'verified', theme: 'locks', behaviour: 'Administrators list and inspect the locks that are held and the pools that were touched' },
  { id: 'INV-001', document: 2, section: 'Inventory', status: 'verified', theme: 'locks', behaviour: 'POST `/inventory/claim` `{pool, n, capacity}` answers 200 `{claimed: true, remaining}` and seeds the pool to `capacity` on first touch' },
  { id: 'INV-002', document: 2, section: 'Inventory', status: 'verified', theme: 'locks', behaviour: 'A claim of more than remains answers 409 `{claimed: false}` and takes nothing' },
  { id: 'INV-003', document: 2, section: 'Inventory', status: 'verified', theme: 'locks', behaviour: 'POST `/inventory/release` `{pool, n}` answers `{remaining}`' },
  { id: 'INV-004', document: 2, section: 'Inventory', status: 'verified', theme: 'locks', behaviour: 'Parallel claims never sell more than `capacity`' },
  { id: 'INV-005', document: 'design', section: 'Inventory', status: 'verified', theme: 'locks', behaviour: 'Release of an untouched pool answers 404' },
  { id: 'INV-006', document: 'design', section: 'Inventory', status: 'verified', theme: 'locks', behaviour: 'A `capacity` in a later claim is ignored' },
  { id: 'INV-007', document: 'design', section: 'Inventory', status: 'verified', theme: 'locks', behaviour: '`remaining` never exceeds `capacity` by releases' },
];
