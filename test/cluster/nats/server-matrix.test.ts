import { describe, expect, it } from 'vitest';
import { haveFeature, type ServerFeature } from '#cluster/nats/server-matrix.ts';
import { isAtLeast, parseServerVersion, type ServerVersion } from '#cluster/nats/server-version.ts';

function version(text: string): ServerVersion {
  const parsed = parseServerVersion(text);
  if (parsed === undefined) throw new Error(`no version: ${text}`);
  return parsed;
}

describe('the version of a nats-server', () => {
  it.each([
    ['2.9.10', 2, 9, 10, false],
    ['v2.12.0-RC.3', 2, 12, 0, true],
  ])('reads %s', (text, major, minor, patch, isPreview) => {
    expect(parseServerVersion(text)).toEqual({ major, minor, patch, isPreview });
  });

  it.each(['', 'devel', '2.9'])('does not read %j', (text) => {
    expect(parseServerVersion(text)).toBeUndefined();
  });

  it.each([
    ['2.12.11', false],
    ['2.12.12', true],
    ['2.12.12-RC.1', false],
    ['2.13.9', false],
    ['2.14.3', false],
    ['2.14.4', true],
    ['2.15.0', true],
    ['3.0.0', true],
    ['2.9.99', false],
  ])('takes %s for one with a fix of 2.12.12 and 2.14.4: %s', (text, expected) => {
    expect(isAtLeast(version(text), ['2.12.12', '2.14.4'])).toBe(expected);
  });
});

describe('what servers give', () => {
  it.each<[string, ServerFeature, boolean]>([
    ['2.9.10', 'streamSequenceFence', true],
    ['2.9.10', 'subjectSequenceFence', false],
    ['2.10.29', 'subjectSequenceFence', false],
    ['2.11.0', 'subjectSequenceFence', true],
    ['2.9.10', 'killSafeStreams', false],
    ['2.10.22', 'killSafeStreams', false],
    ['2.10.23', 'killSafeStreams', true],
    ['2.10.23', 'powerSafeSync', false],
    ['2.10.0', 'messageTtl', false],
    ['2.12.0', 'atomicBatch', true],
  ])('%s has %s: %s', (text, feature, expected) => {
    expect(haveFeature([version(text)], feature)).toBe(expected);
  });

  it('is what the oldest of them gives, and nothing where none is known', () => {
    expect(haveFeature([version('2.14.4'), version('2.9.10')], 'messageTtl')).toBe(false);
    expect(haveFeature([], 'streamSequenceFence')).toBe(false);
  });
});
