import { describe, expect, it } from 'vitest';
import {
  Expansion,
  EXPANDED_BYTES_MAX,
  EXPANDED_MAX,
  type ExpandTarget,
} from '#actors/branch/reads/expansion.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { PropertySelection } from '#runtime/content/values/property-selection.ts';

/** Expands with nodes of these sizes. @returns the targets that were looked at, and the properties as they are answered */
function expanded(refs: readonly JsonObject[], sizes: Readonly<Record<string, number>>) {
  const lookedAt: string[] = [];
  const expand: ExpandTarget = function* (target, bytesMax) {
    const name = `${target.workspace ?? ''}:${target.ref}`;
    lookedAt.push(name);
    yield undefined;
    const bytes = sizes[name];
    return bytes === undefined || bytes > bytesMax ? undefined : { text: `"${name}"`, tag: name, bytes };
  };
  const expansion = new Expansion(new PropertySelection(['refs']), expand);
  const text = atOnce(expansion.text({ refs }));
  const shown = (JSON.parse(text).refs as JsonObject[]).map((ref) => ref['svc:node']);
  return { lookedAt, shown, marks: expansion.marks };
}

describe('expanded references', () => {
  it('look once at a target that is not shown, however often an answer refers to it', () => {
    const to = (ref: string, workspace?: string): JsonObject =>
      workspace === undefined ? { 'svc:ref': ref } : { 'svc:ref': ref, 'svc:workspace': workspace };
    const refs = [
      to('large'),
      to('small'),
      to('gone'),
      to('large'),
      to('gone'),
      to('small'),
      to('large', 'w'),
    ];
    const { lookedAt, marks, shown } = expanded(refs, {
      ':large': EXPANDED_BYTES_MAX + 1,
      ':small': 10,
      'w:large': 10,
    });
    expect(shown).toEqual([undefined, ':small', undefined, undefined, undefined, ':small', 'w:large']);
    expect(lookedAt).toEqual([':large', ':small', ':gone', ':small', 'w:large']);
    // Which one is shown is a part of the entity tag: two nodes may have one tag.
    expect(marks).toEqual(['refs', '', ':small', '', '', '', ':small', 'w:large']);
  });

  it('replace what an earlier build stored in their place', () => {
    const expansion = new Expansion(new PropertySelection(['ref']), function* () {
      yield undefined;
      return { text: '"new"', tag: 'new', bytes: 1 };
    });
    const text = atOnce(expansion.text({ ref: { 'svc:ref': 'one', 'svc:node': 'old' } }));
    expect(text).toBe('{"ref":{"svc:ref":"one","svc:node":"new"}}');
  });

  it('count where nothing is shown', () => {
    const refs = Array.from({ length: EXPANDED_MAX + 1 }, (_, index) => ({ 'svc:ref': `gone-${index}` }));
    expect(expanded(refs, {}).lookedAt).toHaveLength(EXPANDED_MAX);
  });
});
