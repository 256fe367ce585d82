import { describe, expect, it } from 'vitest';
import { manual, ours, text, theirs, mergingBranches } from './merging-branches.ts';

describe('definitions in a merge', () => {
  const branches = mergingBranches();
  const {
    pair,
    forkOf,
    define,
    undefine,
    definition,
    create,
    merge,
    resolve,
    conflicts,
    wrongs,
    briefly,
    expectSettled,
  } = branches;

  describe('a definition that one side deleted', () => {
    it('is in conflict with a node of it on the other side, in either direction [MERGE-037]', async () => {
      const [first, second] = await pair();
      await define(first, 'test:Gone', { properties: [text('title')] });
      await merge(second, first);
      await undefine(second, 'test:Gone');
      await create(first, '/used', 'test:Gone', { title: 'x' });
      for (const [target, source, side] of [
        [first, second, 'source'],
        [second, first, 'target'],
      ] as const) {
        expect(await conflicts(target, source)).toMatchObject([
          {
            node_id: 'node_type:test:Gone',
            conflict_type: 'BothModified',
            violations: [{ violation_type: 'MissingDefinition', with: [{ node_id: 'used' }] }],
          },
          {
            node_id: 'used',
            violations: [
              {
                violation_type: 'MissingDefinition',
                message: `NodeType 'test:Gone' not found; node type 'test:Gone' was deleted on the ${side}`,
                with: [{ node_id: 'node_type:test:Gone' }],
              },
            ],
          },
        ]);
      }
      expect(await resolve(first, second, [ours('node_type:test:Gone')])).toMatchObject({ success: true });
      expect(await definition(first, 'test:Gone')).toMatchObject({ name: 'test:Gone' });
      await expectSettled(first, second);
    });

    it('stays deleted when the node is deleted too', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Gone', { properties: [] });
      await merge(source, target);
      await undefine(source, 'test:Gone');
      await create(target, '/used', 'test:Gone', {});
      const left = await resolve(target, source, [theirs('node_type:test:Gone')]);
      expect(briefly(left.conflicts)).toEqual([['used', 'MissingDefinition', ['node_type:test:Gone']]]);
      const both = [theirs('node_type:test:Gone'), theirs('used')];
      expect(await resolve(target, source, both)).toMatchObject({ success: true });
      await expect(definition(target, 'test:Gone')).rejects.toMatchObject({ code: 'NODE_TYPE_NOT_FOUND' });
      await expectSettled(target, source);
    });

    it('is in conflict where a node has it as its archetype, or in its properties', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Part', { fields: [{ $type: 'TextField', name: 'text' }] }, 'element_type');
      const field = { $type: 'ElementField', name: 'part', element_type: 'test:Part' };
      await define(target, 'test:Look', { base_node_type: 'svc:Folder', fields: [field] }, 'archetype');
      await define(target, 'test:Bare', { base_node_type: 'svc:Folder', fields: [] }, 'archetype');
      await merge(source, target);
      await undefine(source, 'test:Part', 'element_type');
      await undefine(source, 'test:Bare', 'archetype');
      const part = { element_type: 'test:Part', text: 'x' };
      await create(target, '/with-part', 'svc:Folder', { part }, 'test:Look');
      await create(target, '/with-look', 'svc:Folder', {}, 'test:Bare');
      expect(await wrongs(target, source)).toEqual([
        ['archetype:test:Bare', 'MissingDefinition', ['with-look']],
        ['element_type:test:Part', 'MissingDefinition', ['with-part']],
        ['with-look', 'MissingDefinition', ['archetype:test:Bare']],
        ['with-part', 'MissingDefinition', ['element_type:test:Part']],
      ]);
      expect(await resolve(target, source, [ours('archetype:test:Bare'), theirs('with-part')])).toMatchObject(
        { success: true },
      );
      await expectSettled(target, source);
    });

    it('is in conflict with a definition that is made of it', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Base', { properties: [text('title')] });
      await merge(source, target);
      await define(source, 'test:Kid', { extends: 'test:Base', properties: [] });
      await undefine(target, 'test:Base');
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        expect(await wrongs(into, from)).toEqual([
          ['node_type:test:Base', 'MissingDefinition', ['node_type:test:Kid']],
          ['node_type:test:Kid', 'MissingDefinition', ['node_type:test:Base']],
        ]);
      }
      // What does not resolve on its own side either is not the business of the merge.
      const too = await forkOf(source, `${source}-too`);
      await undefine(too, 'test:Base');
      expect(await conflicts(target, too)).toEqual([]);
      const flat = manual('node_type:test:Kid', { properties: [text('title')] });
      await expect(
        resolve(target, source, [manual('node_type:test:Kid', { extends: 'test:Base', properties: [] })]),
      ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
      expect(await resolve(target, source, [flat])).toMatchObject({ success: true });
      expect(await definition(target, 'test:Kid')).toMatchObject({ extends: null });
      await expectSettled(target, source);
    });

    it('is in conflict with a node of a type that extends it', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Base', { properties: [text('title')] });
      await define(target, 'test:Kid', { extends: 'test:Base', properties: [] });
      await merge(source, target);
      await undefine(source, 'test:Base');
      await create(target, '/kid', 'test:Kid', { title: 'kid' });
      expect(await wrongs(target, source)).toEqual([
        ['node_type:test:Base', 'MissingDefinition', ['kid']],
        ['kid', 'MissingDefinition', ['node_type:test:Base']],
      ]);
      expect(await resolve(target, source, [theirs('kid')])).toMatchObject({ success: true });
      await expectSettled(target, source);
    });
  });

  it('refuses resolutions that take a built-in type away, or something that it has [BUILT-017]', async () => {
    const [target, source] = await pair();
    const { properties } = await definition(target, 'svc:Page');
    const page = 'node_type:svc:Page';
    await define(target, 'svc:Page', { properties, versionable: true, publishable: true, auditable: true });
    await define(source, 'svc:Page', {
      properties: [...(properties as []), text('site')],
      versionable: true,
      publishable: true,
      auditable: true,
    });
    expect((await conflicts(target, source)).map(({ node_id }) => node_id)).toEqual([page]);
    for (const [given, message] of [
      [null, /'svc:Page' is a built-in type and cannot be deleted/],
      [{ properties: [text('site')] }, /'svc:Page' is a built-in type and keeps what it has/],
    ] as const) {
      await expect(resolve(target, source, [manual(page, given)])).rejects.toMatchObject({
        code: 'FORBIDDEN',
        message: expect.stringMatching(message),
      });
    }
    expect(await resolve(target, source, [theirs(page)])).toMatchObject({ success: true });
    await expectSettled(target, source);
  });

  it('finds what a built-in type would lose by both sides together [BUILT-017]', async () => {
    const [target, source] = await pair();
    const shipped = await definition(target, 'svc:Page');
    const { properties, versionable, publishable, auditable } = shipped;
    const page = { properties, versionable, publishable, auditable };
    await define(target, 'test:Shared', { properties: [] }, 'mixin');
    await merge(source, target);
    await define(target, 'svc:Page', { ...page, mixins: ['test:Shared'] });
    await define(source, 'test:Shared', { properties: [text('author', { required: true })] }, 'mixin');
    for (const [into, from] of [
      [target, source],
      [source, target],
    ] as const) {
      expect(await wrongs(into, from)).toEqual([
        ['node_type:svc:Page', 'InvalidDefinition', ['node_type:test:Shared']],
        ['node_type:test:Shared', 'InvalidDefinition', ['node_type:svc:Page']],
      ]);
    }
    expect(await resolve(target, source, [ours('node_type:test:Shared')])).toMatchObject({ success: true });
    expect(await definition(target, 'svc:Page')).toMatchObject({ mixins: ['test:Shared'] });
    await expectSettled(target, source);
  });

  describe('a built-in type that neither side wrote', () => {
    const [one, two] = ['node_type:test:One', 'node_type:test:Two'];
    const mixing = { properties: [], mixins: ['test:Two'], is_mixin: true };
    const optional = { properties: [text('author')], is_mixin: true };
    const required = { properties: [text('author', { required: true })], is_mixin: true };

    /** A pair on which `svc:Page` mixes in `test:One`. */
    async function mixedPair(): Promise<[target: string, source: string]> {
      const [target, source] = await pair();
      const { properties, versionable, publishable, auditable } = await definition(target, 'svc:Page');
      await define(target, 'test:One', { properties: [] }, 'mixin');
      await define(target, 'test:Two', optional, 'mixin');
      const page = { properties, versionable, publishable, auditable };
      await define(target, 'svc:Page', { ...page, mixins: ['test:One'] });
      await merge(source, target);
      return [target, source];
    }

    it('is not narrowed by what it is made of [BUILT-017]', async () => {
      const [target, source] = await mixedPair();
      await define(target, 'test:One', mixing, 'mixin');
      await define(source, 'test:Two', required, 'mixin');
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        expect(await wrongs(into, from)).toEqual([
          [one, 'InvalidDefinition', [two]],
          [two, 'InvalidDefinition', [one]],
        ]);
      }
      const told = (await conflicts(target, source)).map(({ violations }) => violations?.[0]?.message);
      for (const message of told) {
        expect(message).toContain(
          "'svc:Page' is a built-in type and keeps what it has: the added property 'author' is required",
        );
        expect(message).toContain("; node type 'test:Two' was changed on the source");
        expect(message).toContain("; node type 'test:One' was changed on the target");
      }
      const left = await resolve(target, source, [manual(two, required)]);
      expect(briefly(left.conflicts)).toEqual([[one, 'InvalidDefinition', [two]]]);
      await expect(resolve(target, source, [manual(two, required), ours(one)])).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining("the added property 'author' is required"),
      });
      expect(await resolve(target, source, [manual(two, optional)])).toMatchObject({ success: true });
      await create(target, '/page', 'svc:Page', { title: 'page' });
      await expectSettled(target, source);
    });

    it('is not judged by a definition in conflict', async () => {
      const [target, source] = await mixedPair();
      await define(target, 'test:One', mixing, 'mixin');
      await define(target, 'test:Two', { properties: [text('site')] }, 'mixin');
      await define(source, 'test:Two', required, 'mixin');
      for (const [into, from] of [
        [target, source],
        [source, target],
      ] as const) {
        expect((await conflicts(into, from)).map(({ node_id }) => node_id)).toEqual([two]);
        expect(await wrongs(into, from)).toEqual([]);
      }
      const left = await resolve(target, source, [theirs(two)]);
      expect(briefly(left.conflicts)).toEqual([[one, 'InvalidDefinition', [two]]]);
      expect(await resolve(target, source, [ours(two)])).toMatchObject({ success: true });
      await expectSettled(target, source);
    });

    it('may lack what it lacks on a side', async () => {
      const [first, second] = await mixedPair();
      await define(first, 'test:One', mixing, 'mixin');
      await define(second, 'test:Two', required, 'mixin');
      // As a merge by an earlier build left it.
      await branches.family.bringOver(first, second, 'other', true);
      const third = await forkOf(first, `${first}-third`);
      await define(first, 'test:One', { ...mixing, properties: [text('site')] }, 'mixin');
      await define(third, 'test:Two', { properties: [...required.properties, text('more')] }, 'mixin');
      expect(await conflicts(first, third)).toEqual([]);
      expect(await merge(first, third)).toMatchObject({ success: true });
    });

    it('is reported once, with the part that does not resolve', async () => {
      const [target, source] = await mixedPair();
      await define(target, 'test:One', mixing, 'mixin');
      await undefine(source, 'test:Two', 'mixin');
      expect(await wrongs(target, source)).toEqual([
        [one, 'MissingDefinition', [two]],
        [two, 'MissingDefinition', [one]],
      ]);
    });
  });

  it('names definitions that extend each other only together', async () => {
    const [target, source] = await pair();
    for (const name of ['test:A', 'test:B']) await define(target, name, { properties: [] });
    await merge(source, target);
    await define(target, 'test:A', { extends: 'test:B', properties: [] });
    await define(source, 'test:B', { extends: 'test:A', properties: [] });
    expect(await wrongs(target, source)).toEqual([
      ['node_type:test:A', 'InvalidDefinition', ['node_type:test:B']],
      ['node_type:test:B', 'InvalidDefinition', ['node_type:test:A']],
    ]);
    expect(await resolve(target, source, [theirs('node_type:test:A')])).toMatchObject({ success: true });
    expect(await definition(target, 'test:A')).toMatchObject({ extends: null });
    await expectSettled(target, source);
  });

  describe('a type in use that neither side changed', () => {
    /** A type that extends `test:Lower`, which extends `test:Upper`, and a node of it. Each side makes the chain longer. */
    async function longerPair(): Promise<[target: string, source: string]> {
      const [target, source] = await pair();
      await define(target, 'test:Upper', { properties: [text('title')] });
      await define(target, 'test:Lower', { extends: 'test:Upper', properties: [] });
      await define(target, 'test:Used', { extends: 'test:Lower', properties: [] });
      await create(target, '/used', 'test:Used', { title: 'x' });
      await merge(source, target);
      const chain = async (branch: string, name: string, extended: string | null) => {
        let above = extended;
        for (const level of 'abcdefghi') {
          await define(branch, `test:${name}${level}`, { extends: above, properties: [] });
          above = `test:${name}${level}`;
        }
        return above;
      };
      await define(target, 'test:Lower', {
        extends: await chain(target, 'Own', 'test:Upper'),
        properties: [],
      });
      const above = await chain(source, 'Far', null);
      await define(source, 'test:Upper', { extends: above, properties: [text('title')] });
      return [target, source];
    }

    it('is too deep by what both sides made of its bases, which are in conflict then [MERGE-037]', async () => {
      const [first, second] = await longerPair();
      for (const [target, source] of [
        [first, second],
        [second, first],
      ] as const) {
        const listed = await conflicts(target, source);
        const said = listed.find(({ violations }) => violations?.[0]?.count === undefined);
        const message = "NodeType 'test:Used' inherits over more than 20 levels";
        expect(said?.violations).toMatchObject([
          { violation_type: 'InvalidDefinition', message: expect.stringContaining(message) },
        ]);
        const ids = listed.map(({ node_id }) => node_id);
        expect(ids).toEqual(expect.arrayContaining(['node_type:test:Lower', 'node_type:test:Upper']));
        expect(ids).not.toContain('node_type:test:Used');
      }
      const settled = [theirs('node_type:test:Lower')];
      expect(await resolve(first, second, settled)).toMatchObject({ success: true });
      expect(await definition(first, 'test:Lower')).toMatchObject({ extends: 'test:Upper' });
      await expectSettled(first, second);
    });

    it('is no matter of a merge where it does not resolve on a side either, which has no nodes of it', async () => {
      const [target, source] = await pair();
      await define(target, 'test:Upper', { properties: [] });
      await define(target, 'test:Mix', { properties: [] }, 'mixin');
      await define(target, 'test:Used', { extends: 'test:Upper', mixins: ['test:Mix'], properties: [] });
      await create(target, '/used', 'test:Used', {});
      await merge(source, target);
      await branches.family.delete(source, '/used');
      await undefine(source, 'test:Mix', 'mixin');
      await define(target, 'test:Upper', { properties: [text('more')] });
      expect(await conflicts(target, source)).toEqual([]);
      expect(await merge(target, source)).toMatchObject({ success: true });
    });

    it('is not judged by a definition in conflict', async () => {
      const [target, source] = await longerPair();
      await define(source, 'test:Lower', { extends: 'test:Upper', properties: [text('other')] });
      expect((await conflicts(target, source)).map(({ node_id }) => node_id)).toEqual([
        'node_type:test:Lower',
      ]);
      const left = await resolve(target, source, [ours('node_type:test:Lower')]);
      expect(left.success).toBe(false);
      expect(left.conflicts.map(({ node_id }) => node_id)).toContain('node_type:test:Upper');
      expect(left.conflicts.map(({ node_id }) => node_id)).not.toContain('node_type:test:Lower');
    });
  });

  it('is no matter of a merge that neither side made, as a name in an initial structure that is gone for both', async () => {
    const [target, source] = await pair();
    await define(target, 'test:Inner', { properties: [] });
    const initial_structure = { children: [{ name: 'inner', node_type: 'test:Inner' }] };
    await define(target, 'test:Outer', { properties: [], initial_structure });
    await merge(source, target);
    await undefine(target, 'test:Inner');
    await define(target, 'test:Outer', { properties: [] });
    await define(source, 'test:Lowerore', { properties: [], initial_structure });
    expect(await wrongs(target, source)).toEqual([
      ['node_type:test:Inner', 'MissingDefinition', ['node_type:test:Lowerore']],
      ['node_type:test:Lowerore', 'MissingDefinition', ['node_type:test:Inner']],
    ]);
    await undefine(source, 'test:Inner');
    expect(await conflicts(target, source)).toEqual([]);
  });
});
