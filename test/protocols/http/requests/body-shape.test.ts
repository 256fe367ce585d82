import { describe, expect, it } from 'vitest';
import { bodyShape } from '#protocols/http/requests/body-shape.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const text = { type: 'string' } as const;

function closed(properties: Readonly<Record<string, JsonSchema>>, ...required: string[]): JsonSchema {
  return { type: 'object', required, properties, additionalProperties: false };
}

function refusal(schema: JsonSchema, body: unknown, schemas?: Record<string, JsonSchema>): string {
  try {
    bodyShape(schema, schemas)?.refuseUnknown(body);
  } catch (error) {
    if (error instanceof ServiceError) return `${error.code} ${error.field}: ${error.message}`;
    throw error;
  }
  return 'taken';
}

const branch = closed(
  {
    name: text,
    upstream_branch: text,
    resolutions: { type: 'array', 'x-aliases': ['conflicts'], items: closed({ node_id: text }) },
    commit: { ...closed({ message: text, actor: text }, 'message') },
    created_at: { ...text, readOnly: true },
    meta: { type: 'object' },
  },
  'name',
);

describe('the shape of a body', () => {
  it('takes what its schema has, in both spellings and by its aliases', () => {
    const bodies = [
      { name: 'a' },
      { name: 'a', upstream_branch: 'b', commit: { message: 'm' }, meta: { any: { thing: 1 } } },
      { name: 'a', upstreamBranch: 'b', conflicts: [{ nodeId: 'n' }] },
      { name: 'a', created_at: 'now', createdAt: 'now' },
    ];
    for (const body of bodies) expect(refusal(branch, body)).toBe('taken');
  });

  it('refuses a field that is there in two spellings with different values [HTTP-093]', () => {
    const named = bodyShape({
      type: 'object',
      properties: { newName: {}, key: { 'x-aliases': ['label'] } },
      additionalProperties: false,
    });
    for (const [body, message] of [
      [{ newName: 'a', new_name: 'b' }, "Field 'new_name' is there as 'newName' too, with another value"],
      [{ new_name: 'b', newName: 'a' }, "Field 'new_name' is there as 'newName' too, with another value"],
      [{ key: null, label: 'a' }, "Field 'label' is there as 'key' too, with another value"],
    ] as const) {
      expect(() => named?.refuseUnknown(body)).toThrow(message);
    }
    named?.refuseUnknown({ newName: 'a', new_name: 'a', label: 'b' });
  });

  it('names unknown fields, with the closest known one', () => {
    expect(refusal(branch, { name: 'a', upstream: 'b' })).toBe(
      "VALIDATION_FAILED upstream: Unknown field 'upstream'; did you mean 'upstream_branch'?",
    );
    expect(refusal(branch, { name: 'a', head: 'b' })).toBe(
      "VALIDATION_FAILED head: Unknown field 'head'; known are name, upstream_branch, resolutions, commit, meta",
    );
  });

  it('checks objects and lists, and reports the location', () => {
    expect(refusal(branch, { name: 'a', commit: { message: 'm', autor: 'x' } })).toBe(
      "VALIDATION_FAILED commit.autor: Unknown field 'commit.autor'; did you mean 'actor'?",
    );
    const conflicts = [{ node_id: 'n' }, { node_id: 'n', kind: 1 }];
    expect(refusal(branch, { name: 'a', conflicts })).toBe(
      "VALIDATION_FAILED conflicts.1.kind: Unknown field 'conflicts.1.kind'; known are node_id",
    );
  });

  it('reports a missing field first, of the outermost object that lacks one', () => {
    expect(refusal(branch, { nmae: 'a' })).toBe(
      "UNPROCESSABLE_BODY name: missing field `name`. Unknown field 'nmae'; did you mean 'name'?",
    );
    expect(refusal(branch, { name: 'a', commit: { mesage: 'm' } })).toBe(
      "UNPROCESSABLE_BODY commit.message: missing field `commit.message`. Unknown field 'commit.mesage'; did you mean 'message'?",
    );
    expect(refusal(branch, { commit: { mesage: 'm' } })).toBe(
      "UNPROCESSABLE_BODY name: missing field `name`. Unknown field 'commit.mesage'; did you mean 'message'?",
    );
  });

  it('leaves missing fields and wrong types to the reader of the body', () => {
    for (const body of [{}, { upstream_branch: 1 }, [], 'text', null, 1, { name: 'a', commit: [] }]) {
      expect(refusal(branch, body)).toBe('taken');
    }
  });

  it('refuses a body that has nothing but what is read-only', () => {
    const settings = closed({ protected: { type: 'boolean' }, head: { ...text, readOnly: true } });
    expect(refusal(settings, { head: '1-0' })).toBe(
      "VALIDATION_FAILED head: Field 'head' is read-only; those that can be written are protected",
    );
    expect(refusal(settings, { head: '1-0', protected: true })).toBe('taken');
    expect(refusal(settings, {})).toBe('taken');
  });

  it('distinguishes variants by their tag', () => {
    const operation: JsonSchema = {
      oneOf: [
        closed({ type: { const: 'delete' }, node_id: text }),
        closed({ type: { enum: ['copy', 'copy_tree'] }, new_name: text }),
      ],
      discriminator: { propertyName: 'type' },
    };
    expect(refusal(operation, { type: 'delete', node_id: 'n' })).toBe('taken');
    expect(refusal(operation, { type: 'copy_tree', newName: 'n' })).toBe('taken');
    expect(refusal(operation, { type: 'delete', new_name: 'n' })).toContain("Unknown field 'new_name'");
    for (const body of [{ type: 'other', x: 1 }, { x: 1 }, [], null]) {
      expect(refusal(operation, body)).toBe('taken');
    }
  });

  it('follows references, also to itself', () => {
    const property = closed({ name: text, items: { $ref: '#/components/schemas/Property' } });
    const schemas = { Property: property };
    const whole = closed({ property: { $ref: '#/components/schemas/Property' } });
    const deep = { property: { name: 'a', items: { items: { name: 'b' } } } };
    expect(refusal(whole, deep, schemas)).toBe('taken');
    expect(refusal(whole, { property: { items: { items: { nam: 'b' } } } }, schemas)).toContain(
      "Unknown field 'property.items.items.nam'; did you mean 'name'?",
    );
  });

  it('is none where everything is open', () => {
    expect(bodyShape({})).toBeUndefined();
    expect(bodyShape({ type: 'object', properties: { name: text } })).toBeUndefined();
    expect(bodyShape({ $ref: '#/components/schemas/Unknown' })).toBeUndefined();
  });

  it('does not take what every object has for a field', () => {
    const body = JSON.parse('{"name": "a", "__proto__": {"x": 1}, "constructor": 1}') as unknown;
    expect(refusal(branch, body)).toContain("Unknown field '__proto__'");
    expect(refusal(branch, { name: 'a', toString: 1 })).toContain("Unknown field 'toString'");
  });

  it('answers one name, shortened, for very many and very long ones', () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`unknown${index}`, 1]));
    expect(refusal(branch, { name: 'a', ...many })).toContain("Unknown field 'unknown0'; known are");
    expect(refusal(branch, { name: 'a', ['x'.repeat(1_000_000)]: 1 }).length).toBeLessThan(400);
  });
});
