import { definePlugin, PersonalDataPoint, RetentionPoint, retainedRows } from 'agent-gateway';
import { personalData } from './personal-data.ts';
import { feedbackRoutes } from './routes.ts';
import { initial, Rating } from './store.ts';

export default definePlugin({
  name: 'feedback',
  summary: 'What users think of answers',
  version: '0.1.0',
  kernel: '^1.0.0',
  entities: [Rating],
  migrations: [initial],
  setup(scope) {
    const { clock, database } = scope.services;
    scope.route(...feedbackRoutes(clock));
    scope.contribute(PersonalDataPoint, personalData(database));
    scope.contribute(
      RetentionPoint,
      retainedRows(database, {
        name: 'feedback_ratings',
        summary: 'Ratings of answers, by the time of the rating',
        entity: Rating,
        older: (before) => ({ ratedAt: { $lt: before } }),
      }),
    );
  },
});
