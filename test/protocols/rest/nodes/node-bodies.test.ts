import { describe, expect, it } from 'vitest';
import { parseCreateBody, parseUpdateBody } from '#protocols/rest/nodes/node-bodies.ts';

const unprocessable = (message: string) =>
  expect.objectContaining({ code: 'UNPROCESSABLE_BODY', message: expect.stringContaining(message) });

describe('the body of a create', () => {
  const node = { name: 'About', node_type: 'svc:Page', properties: { title: 'About' } };
  const expected = { name: 'About', nodeType: 'svc:Page', properties: { title: 'About' } };

  it('may be the fields of the node, with a commit beside them', () => {
    expect(parseCreateBody(node)).toEqual({ node: expected, commit: undefined });
    expect(parseCreateBody({ ...node, commit: { message: 'm', actor: 'a' } })).toEqual({
      node: expected,
      commit: { message: 'm', actor: 'a' },
    });
  });

  it('may be a node and a commit', () => {
    expect(parseCreateBody({ node, commit: { message: 'm', is_system: true } })).toEqual({
      node: expected,
      commit: { message: 'm', isSystem: true },
    });
    expect(parseCreateBody({ node })).toEqual({ node: expected, commit: undefined });
  });

  it('takes camelCase, id, archetype, translations and owner, null included', () => {
    const body = {
      name: 'a',
      nodeType: 'svc:Page',
      id: 'x',
      archetype: null,
      translations: { de: { '/title': 'T' } },
      ownerId: 'o',
    };
    expect(parseCreateBody(body).node).toEqual({
      name: 'a',
      nodeType: 'svc:Page',
      properties: {},
      id: 'x',
      archetype: null,
      translations: { de: { '/title': 'T' } },
      ownerId: 'o',
    });
  });

  it('ignores what the server sets itself', () => {
    const body = { ...node, path: '/elsewhere', version: 9, created_at: 'x', created_by: 'y' };
    expect(parseCreateBody(body).node).toEqual(expected);
  });

  it('names what is missing or wrong', () => {
    expect(() => parseCreateBody({ node_type: 'svc:Page' })).toThrowError(
      unprocessable('missing field `name`'),
    );
    expect(() => parseCreateBody({ name: 'a' })).toThrowError(unprocessable('missing field `node_type`'));
    expect(() => parseCreateBody({ node: { name: 'a' } })).toThrowError(
      unprocessable('missing field `node.node_type`'),
    );
    expect(() => parseCreateBody({ ...node, properties: [] })).toThrowError(unprocessable('`properties`'));
    expect(() => parseCreateBody({ ...node, commit: { actor: 'a' } })).toThrowError(
      unprocessable('missing field `commit.message`'),
    );
    expect(() => parseCreateBody([])).toThrowError(unprocessable('expected object, found array'));
  });
});

describe('the body of an update', () => {
  it('takes the properties and leaves out what is absent', () => {
    expect(parseUpdateBody({ properties: { a: 1 } })).toEqual({ properties: { a: 1 } });
  });

  it('takes a node that was read', () => {
    const read = {
      id: 'i',
      name: 'n',
      path: '/n',
      node_type: 'svc:Page',
      archetype: null,
      properties: { title: 't', $supertypes: [], $mixins: [] },
      parent: '/',
      version: 3,
      translations: null,
      owner_id: null,
      relations: [],
    };
    expect(parseUpdateBody(read)).toEqual({
      properties: read.properties,
      nodeType: 'svc:Page',
      archetype: null,
      translations: null,
      ownerId: null,
    });
  });

  it('names `properties` when they are missing', () => {
    expect(() => parseUpdateBody({ title: 'x' })).toThrowError(unprocessable('missing field `properties`'));
    expect(() => parseUpdateBody({ properties: null })).toThrowError(unprocessable('`properties`'));
  });
});
