import { compileConstraints } from './constraint-check.ts';
import { compositeCheck, elementCheck } from './element-check.ts';
import { geometryComplaint } from '../values/geometry.ts';
import { isJsonArray, isJsonObject, type JsonValue, jsonEquals } from '../values/json-value.ts';
import type { PropertySchema } from '../definitions/property-schema.ts';
import type { ValueCheck } from './validation.ts';
import { valueShapes } from './value-shape.ts';

/** A property with its compiled check. */
export interface ResolvedProperty {
  readonly schema: PropertySchema;
  readonly check: ValueCheck;
}

/**
 * Compiles the check of a property: its type, then fixed value, constraints, `structure` and `items`. Null is accepted,
 * because it means "no value" in every type.
 */
export function compileProperty(schema: PropertySchema): ResolvedProperty {
  return Object.freeze({ schema, check: compileCheck(schema) });
}

function compileCheck(schema: PropertySchema): ValueCheck {
  const rules = [
    ...(schema.value === undefined || schema.value === null ? [] : [fixedValue(schema.value)]),
    ...(schema.constraints === undefined
      ? []
      : compileConstraints(schema.constraints, schema.type === 'Date')),
    ...(schema.structure === undefined ? [] : [structureCheck(schema)]),
    ...(schema.items === undefined ? [] : [itemsCheck(schema.items)]),
  ];
  const ofType = typeCheck(schema, rules);
  return (value, validation) => {
    if (value !== null) ofType(value, validation);
  };
}

/** The check of the type, followed by the other rules when the type is right. */
function typeCheck(schema: PropertySchema, rules: readonly ValueCheck[]): ValueCheck {
  const { type } = schema;
  if (type === 'Element') return inOrder([elementCheck, ...rules]);
  if (type === 'Composite') return inOrder([compositeCheck, ...rules]);
  if (type === 'Geometry') return inOrder([geometryCheck, ...rules]);
  const { accepts, text } = valueShapes[type];
  const complaint = `must be ${text}`;
  if (rules.length === 0) {
    return (value, validation) => {
      if (!accepts(value)) validation.report(complaint);
    };
  }
  const further = inOrder(rules);
  return (value, validation) => {
    if (accepts(value)) further(value, validation);
    else validation.report(complaint);
  };
}

function inOrder(checks: readonly ValueCheck[]): ValueCheck {
  return (value, validation) => {
    for (const check of checks) check(value, validation);
  };
}

const geometryCheck: ValueCheck = (value, validation) => {
  const complaint = geometryComplaint(value);
  if (complaint !== null) validation.report(`must be ${complaint}`);
};

function fixedValue(fixed: JsonValue): ValueCheck {
  return (value, validation) => {
    if (!jsonEquals(value, fixed)) validation.report(`must have its fixed value ${JSON.stringify(fixed)}`);
  };
}

function structureCheck(schema: PropertySchema): ValueCheck {
  const byName = new Map(
    Object.values(schema.structure!).map((nested) => [nested.name, compileProperty(nested)] as const),
  );
  const required = [...byName.keys()].filter((name) => byName.get(name)!.schema.required === true);
  const isClosed = schema.allow_additional_properties === false;
  return (value, validation) => {
    if (!isJsonObject(value)) return;
    for (const name of required) {
      if (!Object.hasOwn(value, name)) validation.report(`misses the required key '${name}'`);
    }
    for (const key in value) {
      const nested = byName.get(key);
      if (nested !== undefined) {
        validation.enter(key);
        nested.check(value[key]!, validation);
        validation.leave();
      } else if (isClosed) {
        validation.report(`must not have the key '${key}'`);
      }
    }
  };
}

function itemsCheck(schema: PropertySchema): ValueCheck {
  const { check } = compileProperty(schema);
  return (value, validation) => {
    if (!isJsonArray(value)) return;
    for (let index = 0; index < value.length; index += 1) {
      validation.enter(index);
      check(value[index]!, validation);
      validation.leave();
    }
  };
}
