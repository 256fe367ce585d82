import { describe, expect, it } from 'vitest';

import { errorRegistry } from '#runtime/errors/error-registry.ts';
import { invalid, isDamage, nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';

describe('ServiceError', () => {
  it('takes the message of the registry when it has none of its own', () => {
    expect(new ServiceError('CONFLICT').message).toBe(errorRegistry.CONFLICT.title);
    expect(new ServiceError('CONFLICT', 'node a changed').message).toBe('node a changed');
  });

  it('keeps facts as fields and the cause for the log', () => {
    const cause = new Error('disk');
    const error = new ServiceError('STORAGE_FULL', 'full', { field: 'a.b', details: { bytes: 1 }, cause });
    expect(error).toMatchObject({ code: 'STORAGE_FULL', field: 'a.b', details: { bytes: 1 }, cause });
    expect(error.entry).toBe(errorRegistry.STORAGE_FULL);
    expect('cause' in new ServiceError('STORAGE_FULL')).toBe(false);
  });

  it('quotes some thousand characters of a message and of the name of a field', () => {
    const error = invalid('m'.repeat(1_000_000), { field: `properties.${'f'.repeat(1_000_000)}` });
    expect([error.message.length, error.field?.length]).toEqual([4_096, 4_096]);
  });

  it('names a bad value with one call', () => {
    expect(invalid('limit is negative', { field: 'limit' })).toMatchObject({
      code: 'VALIDATION_FAILED',
      field: 'limit',
    });
  });

  it('distinguishes damage of stored data from a log that lost records', () => {
    expect(isDamage(new ServiceError('DATA_CORRUPTED'))).toBe(true);
    expect(isDamage(new ServiceError('DATA_CORRUPTED', 'lost', { details: { sequence: 3 } }))).toBe(false);
    expect(isDamage(new ServiceError('STORAGE_FULL'))).toBe(false);
    expect(isDamage(new Error('DATA_CORRUPTED'))).toBe(false);
  });

  it('describes an unreadable node with the words for a missing one', () => {
    expect(nodeNotFound({ path: '/a' })).toMatchObject({
      code: 'NODE_NOT_FOUND',
      message: "Node at path '/a' not found",
    });
    expect(nodeNotFound({ id: 'n-1' }).message).toBe("Node with id 'n-1' not found");
  });
});
