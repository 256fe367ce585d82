import { describe, expect, it } from 'vitest';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import { bareCommit, commandCommit, isExplicit, optionalCommit } from '#protocols/rest/commit-info.ts';

describe('the commit of a write', () => {
  it('is undefined when it is absent or null', () => {
    expect(optionalCommit(bodyFields({}))).toBeUndefined();
    expect(optionalCommit(bodyFields({ commit: null }))).toBeUndefined();
  });

  it('takes message, actor and is_system under both spellings', () => {
    const commit = { message: 'm', actor: 'a', isSystem: false };
    expect(optionalCommit(bodyFields({ commit }))).toEqual(commit);
    expect(optionalCommit(bodyFields({ commit: { message: 'm', is_system: true } }))).toEqual({
      message: 'm',
      isSystem: true,
    });
  });

  it('needs its message', () => {
    expect(() => optionalCommit(bodyFields({ commit: {} }))).toThrow('missing field `commit.message`');
    expect(() => optionalCommit(bodyFields({ commit: 'm' }))).toThrow('`commit`');
  });
});

describe('the commit of a definition, bare', () => {
  it('may be absent, empty, bare or wrapped', () => {
    expect(bareCommit(undefined)).toBeUndefined();
    expect(bareCommit({})).toBeUndefined();
    expect(bareCommit({ actor: 'a' })).toEqual({ actor: 'a' });
    expect(bareCommit({ message: 'm', actor: 'a' })).toEqual({ message: 'm', actor: 'a' });
    expect(bareCommit({ commit: { message: 'm', actor: 'a' } })).toEqual({ message: 'm', actor: 'a' });
  });
});

describe('a commit in both forms', () => {
  const forms = [
    ['of a command', (body: object) => commandCommit(bodyFields(body))],
    ['of a definition', (body: object) => bareCommit(body)],
  ] as const;

  it.each(forms)('%s is refused where a part has two values [HTTP-092]', (_, read) => {
    for (const [part, one, other] of [
      ['message', 'm', 'n'],
      ['actor', 'a', 'b'],
      ['is_system', true, false],
    ] as const) {
      const body = { [part]: one, commit: { message: 'm', [part]: other } };
      expect(() => read(body)).toThrow(`\`${part}\` and \`commit.${part}\` are both given`);
    }
  });

  it.each(forms)('%s has the parts of both [HTTP-092]', (_, read) => {
    expect(read({ message: 'm', actor: 'a', commit: { message: 'm', is_system: true } })).toEqual({
      message: 'm',
      actor: 'a',
      isSystem: true,
    });
    expect(read({ actor: 'a', commit: { message: 'm' } })).toEqual({ message: 'm', actor: 'a' });
  });
});

describe('the commit of a command', () => {
  it('is explicit only with message and actor', () => {
    const explicit = (body: object) => isExplicit(commandCommit(bodyFields(body)));
    expect(explicit({ message: 'm', actor: 'a' })).toBe(true);
    expect(explicit({ commit: { message: 'm', actor: 'a' } })).toBe(true);
    expect(explicit({ message: 'm' })).toBe(false);
    expect(explicit({ actor: 'a' })).toBe(false);
    expect(explicit({})).toBe(false);
  });
});
