// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: revert. */
export const revertRows: readonly Requirement[] = [
  { id: 'REVERT-001', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'A revert answers 200 with `success`, `revision` (milliseconds, a number), `head` (the full revision), `conflicts`, `fast_forward` false and `nodes_changed`; the new revision continues the head, without merge parent' },
  { id: 'REVERT-002', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: '`{from, to}` reverts both ends and everything between; `{revisions}` comes in any order' },
  { id: 'REVERT-003', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'Reverting the newest revisions makes the whole content what it was before them, and reverting that revert brings it back' },
  { id: 'REVERT-004', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'What a later revision changed again is a conflict: `success` false, nothing written, base what the reverted revisions made, target what the branch has, source what was before them' },
  { id: 'REVERT-005', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'A reverted deletion brings the subtree back with ids, order, translations and relations' },
  { id: 'REVERT-006', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'A creation under which others put children, a node whose parent is gone, a place that is taken and a move cycle are conflicts' },
  { id: 'REVERT-007', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'A reverted merge restores what its first parent had; merging the same source again does not bring it back' },
  { id: 'REVERT-008', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'Schema changes are reverted, with their indexes; a node or type that would not be valid then answers 400 and names it' },
  { id: 'REVERT-009', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'Where nothing is left to undo the answer is `success` with `nodes_changed` 0, and no revision is written; `dry_run` writes none either' },
  { id: 'REVERT-010', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'An unknown revision answers 404 `REVISION_NOT_FOUND`; one that does not lead to the head, an empty list, more than 1,000 and a range that runs backwards answer 400' },
  { id: 'REVERT-011', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'A revert of more nodes than one commit may change answers 413' },
  { id: 'REVERT-012', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'A protected branch can be reverted' },
  { id: 'REVERT-013', section: 'docs/interface/merges.md#reverting', status: 'verified', theme: 'versioning', behaviour: 'A revision that brought a built-in type cannot be reverted: 400' },
  { id: 'REVERT-014', section: 'docs/interface/conventions.md#unknown-fields', status: 'verified', theme: 'versioning', behaviour: 'An unknown field of a revert answers 400 with its name and the nearest known one, or all of them, and changes nothing' },
];
