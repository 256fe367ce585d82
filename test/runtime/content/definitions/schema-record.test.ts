import { expect, it } from 'vitest';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import {
  newSchemaRecord,
  publishedSchemaRecord,
  replacedSchemaRecord,
  restoredSchemaRecord,
  unpublishedSchemaRecord,
} from '#runtime/content/definitions/schema-record.ts';

it('stamps definitions: version from 1, one more with every replacement and publish', () => {
  const definition = parseNodeTypeDefinition({ name: 'a:B' });
  const first = newSchemaRecord(definition, 'id-1', 't1');
  expect(first).toMatchObject({
    id: 'id-1',
    version: 1,
    created_at: 't1',
    published_at: null,
    previous_version: null,
  });
  const published = publishedSchemaRecord(first, 't2', 'ann');
  expect(published).toMatchObject({
    version: 2,
    published_at: 't2',
    published_by: 'ann',
    previous_version: 'id-1',
  });
  const replaced = replacedSchemaRecord(published, parseNodeTypeDefinition({ name: 'a:B', icon: 'x' }), 't3');
  expect(replaced).toMatchObject({
    id: 'id-1',
    icon: 'x',
    version: 3,
    created_at: 't1',
    updated_at: 't3',
    published_at: 't2',
    previous_version: 'id-1',
  });
  expect(unpublishedSchemaRecord(replaced, 't4')).toMatchObject({
    version: 3,
    published_at: null,
    published_by: null,
  });
  expect(newSchemaRecord(parseNodeTypeDefinition({ name: 'a:B', id: 'own' }), 'id-2', 't1').id).toBe('own');
});

it('restores an earlier record with an increased version', () => {
  const definition = parseNodeTypeDefinition({ name: 'a:B' });
  const first = newSchemaRecord(definition, 'id-1', 't1');
  const published = publishedSchemaRecord(first, 't2', 'ann');
  expect(restoredSchemaRecord(first, published, 't3')).toMatchObject({
    id: 'id-1',
    version: 3,
    created_at: 't1',
    updated_at: 't3',
    published_at: null,
    published_by: null,
    previous_version: 'id-1',
  });
  expect(restoredSchemaRecord(published, undefined, 't3')).toMatchObject({ version: 3, published_at: 't2' });
});
