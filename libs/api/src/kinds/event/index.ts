import { setDefault } from '../../defaults/set.ts';
import type { Event } from '../../generated/types.ts';
import { EVENTS } from '../../refs.ts';
import type { ResourceDefinition } from '../../resource.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';
import { eventColumns } from './columns.ts';
import { validateEventCreate, validateEventUpdate } from './validation.ts';

const eventFields: ResourceDefinition<Event>['selectableFields'] = {
  'involvedObject.kind': (event) => event.involvedObject.kind ?? '',
  'involvedObject.namespace': (event) => event.involvedObject.namespace ?? '',
  'involvedObject.name': (event) => event.involvedObject.name ?? '',
  'involvedObject.uid': (event) => event.involvedObject.uid ?? '',
  'involvedObject.apiVersion': (event) => event.involvedObject.apiVersion ?? '',
  'involvedObject.resourceVersion': (event) => event.involvedObject.resourceVersion ?? '',
  'involvedObject.fieldPath': (event) => event.involvedObject.fieldPath ?? '',
  reason: (event) => event.reason ?? '',
  reportingComponent: (event) => event.reportingComponent,
  source: (event) => event.source.component || event.reportingComponent,
  type: (event) => event.type ?? '',
};

export const eventResource = defineResource(EVENTS, {
  setDefaults: (event) => {
    setDefault(event, 'involvedObject', {});
    setDefault(event, 'source', {});
    event.firstTimestamp ??= null;
    event.lastTimestamp ??= null;
    event.eventTime ??= null;
    setDefault(event, 'reportingComponent', '');
    setDefault(event, 'reportingInstance', '');
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    validateCreate: validateEventCreate,
    validateUpdate: validateEventUpdate,
    leavesMetadata: true,
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  columns: eventColumns,
  selectableFields: eventFields,
});
