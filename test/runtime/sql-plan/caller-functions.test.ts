import { expect, it } from 'vitest';
import { sqlRows } from '#test/support/sql-in-memory.ts';

it.each(['SVC_CURRENT_USER()', 'SVC_AUTH_CURRENT_USER()', "SVC_AUTH_HAS_PERMISSION('g:/x', 'read')"])(
  'statements without a caller refuse %s, with the place',
  (call) => {
    expect(() => sqlRows(`SELECT ${call}`)).toThrow(
      /^Functions about the caller are not available here \(line 1, column 8\)/,
    );
  },
);
