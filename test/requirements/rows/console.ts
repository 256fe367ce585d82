// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: console. */
export const consoleRows: readonly Requirement[] = [
  { id: 'UI-001', section: 'Admin console', status: 'planned', theme: 'console', behaviour: '`/admin` after a first login with `must_change_password` shows the change screen before anything else' },
];
