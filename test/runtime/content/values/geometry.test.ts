import { describe, expect, it } from 'vitest';
import { geometryComplaint, isPoint, locationToPoint } from '#runtime/content/values/geometry.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';

const ring = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 0],
];

describe('geometryComplaint', () => {
  it.each<JsonValue>([
    { type: 'Point', coordinates: [8.5, 47.4] },
    { type: 'Point', coordinates: [8.5, 47.4, 408] },
    { type: 'MultiPoint', coordinates: [] },
    {
      type: 'LineString',
      coordinates: [
        [0, 0],
        [1, 1],
      ],
    },
    {
      type: 'MultiLineString',
      coordinates: [
        [
          [0, 0],
          [1, 1],
        ],
      ],
    },
    { type: 'Polygon', coordinates: [ring] },
    { type: 'MultiPolygon', coordinates: [[ring]] },
    { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [0, 0] }] },
  ])('takes %j', (value) => {
    expect(geometryComplaint(value)).toBeNull();
  });

  it.each<JsonValue>([
    'POINT(1 1)',
    [1, 2],
    {},
    { type: 'Circle', coordinates: [0, 0] },
    { type: 'Point' },
    { type: 'Point', coordinates: [0] },
    { type: 'Point', coordinates: ['0', '0'] },
    { type: 'Point', coordinates: [181, 0] },
    { type: 'Point', coordinates: [0, -91] },
    { type: 'LineString', coordinates: [[0, 0]] },
    { type: 'Polygon', coordinates: [] },
    {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 1],
        ],
      ],
    },
    { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [999, 0] }] },
    { type: 'GeometryCollection' },
  ])('refuses %j', (value) => {
    expect(geometryComplaint(value)).toMatch(/GeoJSON|coordinates|geometries/);
  });

  it('bounds nested collections', () => {
    let value: JsonValue = { type: 'Point', coordinates: [0, 0] };
    for (let level = 0; level < 20; level += 1) value = { type: 'GeometryCollection', geometries: [value] };
    expect(geometryComplaint(value)).toMatch(/levels/);
  });
});

describe('locationToPoint', () => {
  it('turns both spellings into a Point, longitude first', () => {
    const point = { type: 'Point', coordinates: [8.5, 47.4] };
    expect(locationToPoint({ lat: 47.4, lng: 8.5 })).toEqual(point);
    expect(locationToPoint({ latitude: 47.4, longitude: 8.5 })).toEqual(point);
    expect(isPoint(point)).toBe(true);
  });

  it('leaves what it cannot read for the check to refuse', () => {
    for (const value of [{ lat: 91, lng: 0 }, { lat: 1 }, { lat: '1', lng: '2' }, 'here', null]) {
      expect(locationToPoint(value)).toBe(value);
    }
  });
});
