import { expect, it } from 'vitest';
import { nearestName } from '#runtime/base/text/nearest-name.ts';

const names = ['name', 'upstream_branch', 'from_revision', 'dry_run', 'strict', 'required', 'id', 'limit'];

it.each([
  ['from_revison', 'from_revision'],
  ['fromRevision', 'from_revision'],
  ['dryrun', 'dry_run'],
  ['strictt', 'strict'],
  ['requierd', 'required'],
  ['nmae', 'name'],
  ['NAME', 'name'],
  ['limt', 'limit'],
])('takes %s for %s', (written, meant) => {
  expect(nearestName(written, names)).toBe(meant);
});

it.each([
  ['upstream', 'upstream_branch'],
  ['branch_name', 'name'],
  ['branchName', 'name'],
])('takes %s for %s, which has the same words and more, or some of them', (written, meant) => {
  expect(nearestName(written, names)).toBe(meant);
});

it('names nothing where several names have the words', () => {
  expect(nearestName('node', ['node_id', 'node_type'])).toBeUndefined();
});

it.each(['head', 'x', '', '__', 'to', 'a'.repeat(10_000)])('finds nothing near to %s', (written) => {
  expect(nearestName(written, names)).toBeUndefined();
});

it('prefers the name with the fewest changes', () => {
  expect(nearestName('from_revisions', ['from_revision', 'revisions'])).toBe('from_revision');
  expect(nearestName('item', ['items', 'time', 'limit'])).toBe('items');
});
