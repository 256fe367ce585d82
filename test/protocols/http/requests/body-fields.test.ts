import { describe, expect, it } from 'vitest';
import { FIELD_TEXT_LENGTH_MAX, bodyFields } from '#protocols/http/requests/body-fields.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

function refusal(work: () => unknown): [string, string] {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return [error.code, error.message];
    throw error;
  }
  return ['none', ''];
}

const unprocessable = (message: string): [string, string] => ['UNPROCESSABLE_BODY', message];

describe('bodyFields', () => {
  const fields = bodyFields({
    name: 'main',
    count: 3,
    ratio: 0.5,
    isOn: true,
    tags: ['a', 'b'],
    mixed: ['a', 1],
    inner: { deep: { name: 7 } },
    changes: [{ id: 'x' }, { id: 2 }],
    bare: [{ id: 'x' }, 'y'],
    nothing: null,
    upstream_branch: 'main',
    fromRevision: '1-0',
  });

  it('reads every kind of field', () => {
    expect(fields.string('name')).toBe('main');
    expect(fields.integer('count')).toBe(3);
    expect(fields.number('ratio')).toBe(0.5);
    expect(fields.boolean('isOn')).toBe(true);
    expect(fields.array('mixed')).toEqual(['a', 1]);
    expect(fields.strings('tags')).toEqual(['a', 'b']);
    expect(fields.object('inner')).toEqual({ deep: { name: 7 } });
    expect(fields.list('changes')[0]?.string('id')).toBe('x');
    expect(fields.value('nothing')).toBeNull();
  });

  it('names a missing field', () => {
    const readers = [
      'string',
      'integer',
      'number',
      'boolean',
      'object',
      'array',
      'strings',
      'fields',
      'list',
      'value',
    ] as const;
    for (const reader of readers) {
      expect(refusal(() => fields[reader]('absent'))).toEqual(unprocessable('missing field `absent`'));
    }
    expect(refusal(() => fields.fields('inner').string('title'))).toEqual(
      unprocessable('missing field `inner.title`'),
    );
  });

  it('reports the expected and the found type', () => {
    const cases: [() => unknown, string][] = [
      [() => fields.string('count'), 'invalid type for `count`: expected string, found number'],
      [() => fields.integer('ratio'), 'invalid type for `ratio`: expected integer, found number'],
      [
        () => bodyFields({ n: 2n ** 70n }).integer('n'),
        'invalid type for `n`: expected integer, found number',
      ],
      [() => fields.number('name'), 'invalid type for `name`: expected number, found string'],
      [() => fields.boolean('tags'), 'invalid type for `tags`: expected boolean, found array'],
      [() => fields.object('tags'), 'invalid type for `tags`: expected object, found array'],
      [() => fields.array('inner'), 'invalid type for `inner`: expected array, found object'],
      [() => fields.string('nothing'), 'invalid type for `nothing`: expected string, found null'],
      [() => fields.strings('mixed'), 'invalid type for `mixed.1`: expected string, found number'],
      [() => fields.list('bare'), 'invalid type for `bare.1`: expected object, found string'],
      [
        () => fields.list('changes')[1]?.string('id'),
        'invalid type for `changes.1.id`: expected string, found number',
      ],
      [
        () => fields.fields('inner').fields('deep').string('name'),
        'invalid type for `inner.deep.name`: expected string, found number',
      ],
      [() => fields.optionalString('count'), 'invalid type for `count`: expected string, found number'],
    ];
    for (const [work, message] of cases) expect(refusal(work)).toEqual(unprocessable(message));
  });

  it('refuses a text that is too long before it is read, in any field', () => {
    const most = 'x'.repeat(FIELD_TEXT_LENGTH_MAX);
    const body = bodyFields({
      most,
      long: `${most}x`,
      list: ['a', `${most}x`],
      inner: [{ long: `${most}x` }],
    });
    expect([body.string('most'), body.optionalString('most')]).toEqual([most, most]);
    const cases: [() => unknown, string][] = [
      [() => body.string('long'), 'long'],
      [() => body.optionalString('long'), 'long'],
      [() => body.oneOf('long', ['a']), 'long'],
      [() => body.strings('list'), 'list.1'],
      [() => body.optionalStrings('list'), 'list.1'],
      [() => body.list('inner')[0]?.string('long'), 'inner.0.long'],
    ];
    for (const [work, field] of cases)
      expect(refusal(work)).toEqual(['VALIDATION_FAILED', `\`${field}\` is longer than 131072 characters`]);
    // Values may be anything.
    expect(body.value('long')).toHaveLength(FIELD_TEXT_LENGTH_MAX + 1);
  });

  it('takes null for absent where a field is optional', () => {
    expect(fields.optionalString('nothing')).toBeUndefined();
    expect(fields.optionalString('absent')).toBeUndefined();
    expect(fields.optionalFields('nothing')).toBeUndefined();
    expect(fields.optionalList('absent')).toBeUndefined();
    expect(fields.optionalStrings('nothing')).toBeUndefined();
    expect([fields.has('nothing'), fields.has('name')]).toEqual([false, true]);
    expect([fields.optionalValue('nothing'), fields.optionalValue('absent')]).toEqual([null, undefined]);
  });

  it('accepts the other spelling of a name, and aliases after it', () => {
    expect(fields.string('upstreamBranch')).toBe('main');
    expect(fields.string('from_revision')).toBe('1-0');
    expect(fields.string('title', 'label', 'name')).toBe('main');
    expect(refusal(() => fields.string('createdBy'))).toEqual(unprocessable('missing field `createdBy`'));
  });

  it('refuses a value outside a closed set with VALIDATION_FAILED', () => {
    expect(fields.oneOf('name', ['main', 'other'])).toBe('main');
    expect(fields.optionalOneOf('absent', ['a'])).toBeUndefined();
    expect(refusal(() => fields.oneOf('name', ['a', 'b']))).toEqual([
      'VALIDATION_FAILED',
      '`name` must be one of a, b.',
    ]);
    expect(refusal(() => fields.oneOf('count', ['a']))).toEqual(
      unprocessable('invalid type for `count`: expected string, found number'),
    );
  });

  it('refuses a body that is no object', () => {
    expect(refusal(() => bodyFields([]))).toEqual(
      unprocessable('invalid type for the body: expected object, found array'),
    );
    expect(refusal(() => bodyFields(undefined))).toEqual(
      unprocessable('invalid type for the body: expected object, found nothing'),
    );
    expect(refusal(() => bodyFields(null, 'policy'))).toEqual(
      unprocessable('invalid type for `policy`: expected object, found null'),
    );
  });

  it('reads own fields only', () => {
    expect(refusal(() => fields.object('constructor'))).toEqual(unprocessable('missing field `constructor`'));
    expect(bodyFields(JSON.parse('{"__proto__": {"name": "x"}}')).has('name')).toBe(false);
  });
});
