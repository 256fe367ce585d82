import { expect, it } from 'vitest';
import { KnownNames, unknownName } from '#runtime/errors/known-names.ts';

it('has its names and those that are let through, and suggests the former', () => {
  const known = new KnownNames(['name', 'title'], ['created_at']);
  expect(['name', 'created_at', 'nmae'].map((name) => known.has(name))).toEqual([true, true, false]);
  expect(known.names).toEqual(['name', 'title']);
  expect(known.all).toEqual(['name', 'title', 'created_at']);
});

it('names the location and the closest known name', () => {
  const error = unknownName('field', 'mesage', ['message', 'actor'], 'commit');
  expect([error.code, error.field, error.message]).toEqual([
    'VALIDATION_FAILED',
    'commit.mesage',
    "Unknown field 'commit.mesage'; did you mean 'message'?",
  ]);
});

it('lists the known names when none is close, and reports an empty list', () => {
  expect(unknownName('query parameter', 'sort', ['limit', 'cursor']).message).toBe(
    "Unknown query parameter 'sort'; known are limit, cursor",
  );
  expect(unknownName('query parameter', 'sort', []).message).toBe(
    "Unknown query parameter 'sort'; none is taken here",
  );
});

it('quotes the beginning of a long name and the end of a long place', () => {
  const error = unknownName('field', 'n'.repeat(1_000_000), ['name'], `${'p'.repeat(1_000_000)}.end`);
  expect(error.message.length).toBeLessThan(1_000);
  expect(error.field?.length).toBeLessThan(400);
  expect(error.field).toMatch(/^…p+\.end\.n+…$/);
});
