// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: tags. */
export const tagsRows: readonly Requirement[] = [
  { id: 'TAG-001', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'POST `/tags` `{name, revision, message, created_by, protected}` answers the tag' },
  { id: 'TAG-002', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'GET `/tags` lists the tags' },
  { id: 'TAG-003', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'GET `/tags/{name}` answers the tag' },
  { id: 'TAG-004', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'A tag names one revision permanently: there is no update of it' },
  { id: 'TAG-005', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'DELETE of a protected tag is refused with 403' },
  { id: 'TAG-006', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'A branch can be forked from the revision of a tag' },
  { id: 'TAG-007', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'A tag create echoes its fields; a minimal one has `created_by: system`; it is listed; DELETE answers 204; unknown get and delete answer 404 `TAG_NOT_FOUND`' },
  { id: 'TAG-008', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'A tag in the place of a branch works in a read URL' },
  { id: 'TAG-009', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'A tag create with a taken name answers 409 `TAG_ALREADY_EXISTS`' },
  { id: 'TAG-010', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'A tag on an unknown revision answers 404' },
  { id: 'TAG-011', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'A write through a tag answers 405' },
  { id: 'TAG-012', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'A tag stays readable after its branch is deleted, until the tag is deleted' },
  { id: 'TAG-013', section: 'docs/interface/branches.md#tags', status: 'verified', theme: 'versioning', behaviour: 'Nothing later than its revision is seen through a tag: history, audit log, manual versions and revisions included' },
  { id: 'TAG-014', section: 'docs/interface/conventions.md#unknown-fields', status: 'verified', theme: 'versioning', behaviour: 'An unknown field of a new tag answers 400 with its name and the nearest known one, or all of them, and changes nothing' },
  { id: 'TAG-015', section: 'docs/interface/conventions.md#unknown-fields', status: 'verified', theme: 'versioning', behaviour: 'A tag that was read can be posted under another name' },
  { id: 'TAG-016', section: 'docs/interface/revisions.md#revision-lists', status: 'verified', theme: 'versioning', behaviour: 'The record and the changes of a revision that only tags of a deleted branch have are answered without `?branch=` as before its deletion' },
];
