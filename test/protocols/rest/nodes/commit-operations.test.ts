import { describe, expect, it } from 'vitest';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import { OPERATIONS_MAX, parseCommitOperations } from '#protocols/rest/nodes/commit-operations.ts';

const parse = (body: object, only?: number) => parseCommitOperations(bodyFields(body), '/here', only);
const operationsOf = (...operations: object[]) => parse({ message: 'm', operations }).operations;
const invalid = expect.objectContaining({ code: 'VALIDATION_FAILED' });

describe('the operations of a commit', () => {
  it('are read one by one with the commit', () => {
    const found = parse({
      message: 'm',
      actor: 'a',
      operations: [
        { type: 'update', node_id: 'u', properties: { a: 1 } },
        { type: 'delete', node_id: 'd' },
        { type: 'move', node_id: 'm', new_path: 'to/here/' },
        { type: 'rename', node_id: 'r', new_name: 'n' },
        { type: 'copy', source_path: '/s', target_parent: '/', new_name: 'c' },
        { type: 'copy_tree', sourcePath: '/s', targetParent: '/t' },
      ],
    });
    expect(found).toEqual({
      commit: { message: 'm', actor: 'a' },
      operations: [
        { type: 'update', nodeId: 'u', properties: { a: 1 } },
        { type: 'delete', nodeId: 'd' },
        { type: 'move', nodeId: 'm', newPath: '/to/here' },
        { type: 'rename', nodeId: 'r', newName: 'n' },
        { type: 'copy', sourcePath: '/s', targetParent: '/', newName: 'c' },
        { type: 'copy_tree', sourcePath: '/s', targetParent: '/t' },
      ],
    });
  });

  it('need a message, one operation at least and a known type', () => {
    expect(() => parse({ operations: [{ type: 'delete', node_id: 'd' }] })).toThrow(
      'missing field `message`',
    );
    expect(() => parse({ message: 'm' })).toThrow('missing field `operations`');
    expect(() => parse({ message: 'm', operations: [] })).toThrowError(invalid);
    expect(() => operationsOf({ type: 'explode' })).toThrowError(invalid);
    expect(() => operationsOf({ node_id: 'd' })).toThrow('missing field `operations.0.type`');
  });

  it('name the field that is missing with its place', () => {
    expect(() => operationsOf({ type: 'delete', node_id: 'd' }, { type: 'rename', node_id: 'r' })).toThrow(
      'missing field `operations.1.new_name`',
    );
  });

  it('are bounded', () => {
    const operations = Array.from({ length: OPERATIONS_MAX + 1 }, () => ({ type: 'delete', node_id: 'd' }));
    expect(() => parse({ message: 'm', operations })).toThrowError(invalid);
  });

  it('are exactly as many as a command wants', () => {
    const one = { type: 'delete', node_id: 'd' };
    expect(parse({ message: 'm', operations: [one] }, 1).operations).toHaveLength(1);
    expect(() => parse({ message: 'm', operations: [one, one] }, 1)).toThrowError(invalid);
  });
});

describe('the place of a created node', () => {
  const placeOf = (node: object, rest: object = {}) => {
    const [operation] = operationsOf({ type: 'create', node: { node_type: 'svc:Folder', ...node }, ...rest });
    if (operation?.type !== 'create') throw new Error('not a create');
    return { under: operation.parentPath, name: operation.node.name };
  };

  it('is where the command was sent to unless it is stated', () => {
    expect(placeOf({ name: 'n' })).toEqual({ under: '/here', name: 'n' });
  });

  it('is below parent_path of the operation or of the node', () => {
    expect(placeOf({ name: 'n' }, { parent_path: '/p' })).toEqual({ under: '/p', name: 'n' });
    expect(placeOf({ name: 'n', parentPath: '/p' })).toEqual({ under: '/p', name: 'n' });
  });

  it('follows from the path of the node, with its last segment as the name if there is none', () => {
    expect(placeOf({ path: '/p/q' })).toEqual({ under: '/p', name: 'q' });
    expect(placeOf({ path: '/p/q', name: 'n' })).toEqual({ under: '/p', name: 'n' });
    expect(placeOf({ path: '/', name: 'n' })).toEqual({ under: '/', name: 'n' });
  });

  it('takes a parent that is a path, not the name a node that was read has there', () => {
    expect(placeOf({ name: 'n', parent: '/p' })).toEqual({ under: '/p', name: 'n' });
    expect(placeOf({ name: 'n', parent: 'p' })).toEqual({ under: '/here', name: 'n' });
  });
});
