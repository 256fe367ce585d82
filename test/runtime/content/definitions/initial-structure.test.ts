import { describe, expect, it } from 'vitest';
import {
  planInitialChildren,
  requireInitialTypes,
} from '#runtime/content/validation/plan-initial-structure.ts';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import { schemaOf } from '../schema-fixture.ts';

const badValue = expect.objectContaining({ code: 'VALIDATION_FAILED' });
const child = (name: string, type: string, more: object = {}) => ({ name, node_type: type, ...more });
const bare = { archetype: null, properties: {}, translations: null, children: [] };

describe('planInitialChildren', () => {
  it('adds what the types of the children add, listed children first and once', () => {
    const schema = schemaOf({
      nodeTypes: [
        {
          name: 't:User',
          initial_structure: {
            children: [
              child('My Profile', 't:Profile', {
                children: [child('public', 't:Leaf', { properties: { a: 1 } })],
              }),
              child('inbox', 't:Leaf'),
            ],
          },
        },
        {
          name: 't:Profile',
          initial_structure: [
            ['private', 't:Leaf'],
            ['public', 't:Leaf'],
          ],
        },
        { name: 't:Leaf' },
        { name: 't:Agent', extends: 't:User' },
      ],
    });
    const planned = [
      {
        ...bare,
        name: 'my-profile',
        node_type: 't:Profile',
        children: [
          { ...bare, name: 'public', node_type: 't:Leaf', properties: { a: 1 } },
          { ...bare, name: 'private', node_type: 't:Leaf' },
        ],
      },
      { ...bare, name: 'inbox', node_type: 't:Leaf' },
    ];
    expect(planInitialChildren(schema.resolved.nodeType('t:User')!, schema.resolved)).toEqual(planned);
    expect(planInitialChildren(schema.resolved.nodeType('t:Agent')!, schema.resolved)).toEqual(planned);
    expect(planInitialChildren(schema.resolved.nodeType('t:Leaf')!, schema.resolved)).toEqual([]);
  });

  it('refuses types that bring each other without end, and too many nodes', () => {
    const wide = Array.from({ length: 40 }, (_, index) => child(`n${index}`, 't:Wide'));
    const schema = schemaOf({
      nodeTypes: [
        { name: 't:Ping', initial_structure: { children: [child('x', 't:Pong')] } },
        { name: 't:Pong', initial_structure: { children: [child('x', 't:Ping')] } },
        { name: 't:Wider', initial_structure: { children: wide } },
        {
          name: 't:Wide',
          initial_structure: { children: wide.map((each) => ({ ...each, node_type: 't:Leaf' })) },
        },
        { name: 't:Leaf' },
        { name: 't:Lost', initial_structure: { children: [child('x', 't:Gone')] } },
      ],
    });
    const plan = (name: string) => () =>
      planInitialChildren(schema.resolved.nodeType(name)!, schema.resolved);
    expect(plan('t:Ping')).toThrowError(badValue);
    expect(plan('t:Ping')).toThrowError(/deeper than 20/);
    expect(plan('t:Wider')).toThrowError(/more than 1000 nodes/);
    expect(plan('t:Lost')).toThrowError(/'t:Gone' not found/);
  });
});

describe('an initial structure in a definition', () => {
  const parse = (initial_structure: unknown) => parseNodeTypeDefinition({ name: 't:A', initial_structure });

  it('must name types that exist when it is saved', () => {
    const schema = schemaOf({ nodeTypes: [{ name: 't:B' }] });
    const structure = parse([child('x', 't:A', { children: [child('y', 't:B')] })]).initial_structure;
    expect(() => requireInitialTypes(structure, 't:A', schema)).not.toThrow();
    expect(() => requireInitialTypes(structure, 't:Other', schema)).toThrowError(
      /Invalid initial structure.*'t:A'/,
    );
    expect(() => requireInitialTypes(null, 't:A', schema)).not.toThrow();
  });

  it('is bounded in depth and number, and has no name twice', () => {
    let deep: object = child('x', 't:A');
    for (let level = 0; level < 25; level += 1) deep = child('x', 't:A', { children: [deep] });
    expect(() => parse([deep])).toThrowError(/deeper than 20/);
    expect(() => parse(Array.from({ length: 1_001 }, (_, index) => child(`n${index}`, 't:A')))).toThrowError(
      /more than 1000/,
    );
    expect(() => parse([child('A b', 't:A'), child('a-b', 't:A')])).toThrowError(/names 'a-b' twice/);
    expect(() => parse('x')).toThrowError(expect.objectContaining({ code: 'UNPROCESSABLE_BODY' }));
    expect(() => parse([['x', 't:A', 'rest']])).toThrowError(
      expect.objectContaining({ code: 'UNPROCESSABLE_BODY' }),
    );
    expect(() => parse([['x']])).toThrowError(/missing field `node_type`/);
  });
});
