import { describe, expect, it } from 'vitest';
import { parseDslBody, parseQueryBody } from '#protocols/rest/nodes/queries.ts';

const selectorOf = (body: object) => parseQueryBody('w', body).selector;
const invalid = expect.objectContaining({ code: 'VALIDATION_FAILED' });
const unprocessable = expect.objectContaining({ code: 'UNPROCESSABLE_BODY' });

describe('the body of a JSON query', () => {
  it('has one selector, under either spelling', () => {
    expect(selectorOf({ nodeType: 'a:B' })).toEqual({ nodeType: 'a:B' });
    expect(selectorOf({ node_type: 'a:B' })).toEqual({ nodeType: 'a:B' });
    expect(selectorOf({ parent: 'some-id' })).toEqual({ parent: 'some-id' });
    expect(selectorOf({ path: 'a/b/' })).toEqual({ path: '/a/b' });
  });

  it('lets path win over the others', () => {
    expect(selectorOf({ nodeType: 'a:B', parent: 'p', path: '/x' })).toEqual({ path: '/x' });
  });

  it('is refused without a selector and with two', () => {
    expect(() => selectorOf({})).toThrowError(invalid);
    expect(() => selectorOf({ path: null, limit: 3 })).toThrowError(invalid);
    expect(() => selectorOf({ nodeType: 'a:B', parent: 'p' })).toThrowError(invalid);
  });

  it('is refused with values of another type', () => {
    expect(() => selectorOf({ nodeType: 5 })).toThrowError(unprocessable);
    expect(() => parseQueryBody('w', { path: '/', limit: '5' })).toThrowError(unprocessable);
    expect(() => parseQueryBody('w', { path: '/', offset: 1.5 })).toThrowError(unprocessable);
    expect(() => parseQueryBody('w', 'text')).toThrowError(unprocessable);
  });

  it('carries limit and offset only when they are given', () => {
    expect(parseQueryBody('w', { parent: 'p' })).toEqual({
      type: 'RunQuery',
      workspace: 'w',
      selector: { parent: 'p' },
    });
    expect(parseQueryBody('w', { parent: 'p', limit: 2, offset: 0 })).toMatchObject({ limit: 2, offset: 0 });
  });
});

describe('the body of a DSL query', () => {
  it('is handed on whole', () => {
    const filter = { and: [{ name: { eq: 'a' } }], order_by: { name: 'asc' }, limit: 1 };
    expect(parseDslBody('w', filter)).toEqual({ type: 'RunDslQuery', workspace: 'w', filter });
  });

  it('may be empty, but must be an object', () => {
    expect(parseDslBody('w', undefined).filter).toEqual({});
    expect(() => parseDslBody('w', [])).toThrowError(unprocessable);
  });
});
