import test from 'ava';
import { cacheControl } from '../../../../plugins/pages/services/cache-rule.ts';

const HASHED = [
  'static/main.3f2a1b9c.js',
  'static/main.3f2a1b9c.chunk.js',
  'static/js/2.0d4e5f6a7b8c9d0e1f2a.chunk.js.map',
  'static/index-BxT3kZ9q.js',
  'static/index-D_a3-Zq1.css',
  'static/chunk-QK5ZBTXW.js',
  'static/a1b2c3d4.css',
  'static/logo.0a1b2c3d4e5f60718293a4b5c6d7e8f9.svg',
];
const NAMED = [
  'index.html',
  'admin.html',
  'static/app.js',
  'static/app.min.js',
  'static/jquery-3.7.1.min.js',
  'static/bootstrap-datepicker.js',
  'static/report-20261123.csv',
  'static/tour-deadbeef.png',
  'static/facade.decadent.js',
  'static/logo-Version2.svg',
  'static/IMG_2023.jpg',
  'static/photo-IMG_2023.jpg',
  'static/sale-SUMMER25.png',
  'static/myLogo25.png',
  'static/3f2a1b9c/app.js',
  'static/LICENSE',
  'static/chart-1920x1080.png',
];

test('what a build tool has named by its content is kept for a year', (t) => {
  for (const name of HASHED) t.is(cacheControl(name), 'public, max-age=31536000, immutable', name);
});

test('what has a name of its own is asked for', (t) => {
  for (const name of NAMED) t.is(cacheControl(name), 'no-cache', name);
});
