import { compareNumbers, isNumber, isWhole } from '#runtime/base/text/exact-number.ts';
import { isKnownObject } from './constraint-check.ts';
import { isDateText, isTimeText } from '../values/date-text.ts';
import { checkElement, checkElements, checkFields, checkItems } from './element-check.ts';
import type { FieldRules } from './validation.ts';
import type { FieldConfig, FieldSchema, FieldType } from '../definitions/field-schema.ts';
import { isPoint } from '../values/geometry.ts';
import { isJsonArray, isJsonObject, type JsonValue, ownValue } from '../values/json-value.ts';
import type { Validation, ValueCheck } from './validation.ts';
import { COMPARISON_WORK } from './check-work.ts';
import { isReference, isResource } from './value-shape.ts';

/**
 * Compiles the check of a field. Null passes. Entry types of references are not checked: the target may live in
 * another workspace and change its type later.
 *
 * @param nested the rules of a composite field's own fields
 * @see docs/interface/node-types.md#fields-of-archetypes-and-element-types
 */
export function compileField(field: FieldSchema, nested: FieldRules | null): ValueCheck {
  const single = singleCheck(field, nested);
  const check =
    field.multiple === true && !listTypes.has(field.$type) ? multipleCheck(field, single) : single;
  const uuidRule = field.$type === 'CompositeField' && field.multiple === true && hasTranslatable(field);
  return (value, validation) => {
    if (value === null) return;
    check(value, validation);
    if (uuidRule) checkUuids(value, validation);
  };
}

/** Fields whose single value is already a list. */
const listTypes: ReadonlySet<FieldType> = new Set([
  'TagField',
  'OptionsField',
  'SectionField',
  'ListingField',
]);

function multipleCheck(field: FieldSchema, single: ValueCheck): ValueCheck {
  return (value, validation) =>
    checkItems(value, validation, `a list, since field '${field.name}' is multiple`, (item) => {
      if (item !== null) single(item, validation);
    });
}

function singleCheck(field: FieldSchema, nested: FieldRules | null): ValueCheck {
  const config = field.config ?? {};
  switch (field.$type) {
    case 'TextField':
      return textCheck(config, false);
    case 'RichTextField':
      return textCheck(config, true);
    case 'NumberField':
      return numberCheck(config);
    case 'DateField':
      return dateCheck(config);
    case 'BooleanField':
      return must((value) => typeof value === 'boolean', 'a boolean');
    case 'JsonObjectField':
      return must(isJsonObject, 'an object');
    case 'LocationField':
      return must(isPoint, 'a location: {lat, lng} in degrees, or a GeoJSON Point');
    case 'MediaField':
      return mediaCheck(config);
    case 'ReferenceField':
      return must(isReference, 'a reference (an object with svc:ref)');
    case 'ListingField':
      return must((value) => typeof value === 'object', 'an object or an array');
    case 'TagField':
      return tagCheck(config);
    case 'OptionsField':
      return optionsCheck(config, field.multiple === true);
    case 'ElementField': {
      const allowed = [field.element_type!];
      return (value, validation) => checkElement(value, validation, allowed);
    }
    case 'SectionField': {
      const allowed = field.allowed_element_types ?? [];
      return (value, validation) => checkElements(value, validation, allowed.length === 0 ? null : allowed);
    }
    case 'CompositeField':
      return (value, validation) => {
        if (!isJsonObject(value)) validation.report('must be an object');
        else checkFields(value, nested!, `composite field '${field.name}'${validation.place()}`, validation);
      };
  }
}

function must(accepts: (value: JsonValue) => boolean, text: string): ValueCheck {
  return (value, validation) => {
    if (!accepts(value)) validation.report(`must be ${text}`);
  };
}

/** Rich text may also be an editor document, which is an object or an array. */
function textCheck(config: FieldConfig, isRich: boolean): ValueCheck {
  const longest = config.max_length;
  return (value, validation) => {
    if (typeof value !== 'string') {
      if (!isRich || typeof value !== 'object')
        validation.report(`must be ${isRich ? 'rich text' : 'a string'}`);
    } else if (longest !== undefined && value.length > longest && [...value].length > longest) {
      validation.report(`must have at most ${longest} characters`);
    }
  };
}

function numberCheck(config: FieldConfig): ValueCheck {
  const { is_integer: isInteger, min_value: least, max_value: greatest } = config;
  return (value, validation) => {
    if (!isNumber(value)) validation.report('must be a number');
    else if (isInteger === true && !isWhole(value)) validation.report('must be a whole number');
    else if (least !== undefined && compareNumbers(value, least) < 0)
      validation.report(`must be at least ${least}`);
    else if (greatest !== undefined && compareNumbers(value, greatest) > 0)
      validation.report(`must be at most ${greatest}`);
  };
}

function dateCheck(config: FieldConfig): ValueCheck {
  if (config.date_mode === 'Time') {
    return must((value) => typeof value === 'string' && isTimeText(value), 'a time of day (09:30)');
  }
  if (config.date_mode === 'TimeRange') {
    return must((value) => typeof value === 'string' || isJsonObject(value), 'a range of times');
  }
  return must((value) => typeof value === 'string' && isDateText(value), 'an RFC 3339 date');
}

function mediaCheck(config: FieldConfig): ValueCheck {
  const allowed = config.allowed_types ?? [];
  return (value, validation) => {
    if (!isResource(value)) {
      validation.report('must be a file or a reference to one');
      return;
    }
    const type = isJsonObject(value) ? ownValue(value, 'mime_type') : undefined;
    validation.work.spend(allowed.length * COMPARISON_WORK);
    if (allowed.length > 0 && typeof type === 'string' && !allowed.some((pattern) => isMime(type, pattern))) {
      validation.report(`must be of media type ${allowed.join(' or ')}, not ${type}`);
    }
  };
}

/** `image`, `image/*` and `image/png` all match `image/png`. */
function isMime(type: string, pattern: string): boolean {
  const family = pattern.endsWith('/*') ? pattern.slice(0, -2) : pattern;
  return pattern === '*' || type === pattern || type.startsWith(`${family}/`);
}

function tagCheck(config: FieldConfig): ValueCheck {
  const allowed = new Set<JsonValue>(config.allowed_tags ?? []);
  const most = config.max_tags;
  return (value, validation) => {
    if (!isJsonArray(value) || !value.every((tag) => typeof tag === 'string')) {
      validation.report('must be a list of strings');
      return;
    }
    if (most !== undefined && value.length > most) validation.report(`must have at most ${most} tags`);
    const unknown = allowed.size === 0 ? undefined : value.find((tag) => !allowed.has(tag));
    if (unknown !== undefined) validation.report(`must not have the tag '${String(unknown)}'`);
  };
}

function optionsCheck(config: FieldConfig, isMultiple: boolean): ValueCheck {
  const options = (config.options ?? []).map((option) =>
    isJsonObject(option) ? (ownValue(option, 'value') ?? option) : option,
  );
  const takesMany = isMultiple || config.multi_select === true;
  const scalars = new Set<JsonValue>(options.filter((option) => typeof option !== 'object'));
  const others = options.filter((option) => typeof option === 'object');
  return (value, validation) => {
    const chosen = takesMany && isJsonArray(value) ? value : [value];
    const isKnown = (item: JsonValue): boolean => {
      if (typeof item !== 'object') return options.length === 0 || scalars.has(item);
      return isKnownObject(others, item, validation);
    };
    if (!chosen.every(isKnown)) {
      validation.report(`must be ${takesMany ? 'a list of its options' : 'one of its options'}`);
    }
  };
}

function hasTranslatable(field: FieldSchema): boolean {
  return (field.fields ?? []).some((nested) => nested.translatable === true || hasTranslatable(nested));
}

/** Translations address the items of a list by `uuid`, so every item of a translatable list needs one. */
function checkUuids(value: JsonValue, validation: Validation): void {
  const list = isJsonObject(value) ? ownValue(value, 'items') : value;
  if (!isJsonArray(list)) return;
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const uuid = isJsonObject(item) ? ownValue(item, 'uuid') : undefined;
    if (typeof uuid !== 'string' || uuid === '') {
      validation.report(`misses a uuid on item ${index} (COMPOSITE_MISSING_UUID)`);
    } else if (seen.has(uuid)) {
      validation.report(`has the uuid '${uuid}' twice (COMPOSITE_DUPLICATE_UUID)`);
    } else {
      seen.add(uuid);
    }
  }
}
